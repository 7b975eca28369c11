#include "protocol.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"

struct block {
    struct block *previous;
    void *memory;
};

struct list {
    char **items;
    size_t count;
    bool is_null;
};

jmp_buf refused;

static FILE *commands;
static FILE *replies;
static char *line;
static size_t line_size;
static char *rest;
static bool values_begun;
static struct block *blocks;

static void *checked(void *memory) {
    if (memory == NULL) {
        perror("master");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* A private duplicate of a standard stream, invisible to processes that an FMU starts. */
static FILE *private_stream(int descriptor, const char *mode) {
    return checked(fdopen(fcntl(descriptor, F_DUPFD_CLOEXEC, 3), mode));
}

void open_protocol(void) {
    commands = private_stream(STDIN_FILENO, "r");
    replies = private_stream(STDOUT_FILENO, "w");
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        perror("master");
        exit(EXIT_FAILURE);
    }
    close(nothing);
}

static void free_scratch(void) {
    while (blocks != NULL) {
        struct block *block = blocks;
        blocks = block->previous;
        free(block->memory);
        free(block);
    }
}

void *scratch(size_t size) {
    struct block *block = checked(malloc(sizeof *block));
    block->memory = checked(calloc(1, size > 0 ? size : 1));
    block->previous = blocks;
    blocks = block;
    return block->memory;
}

const char *read_command(void) {
    ssize_t length = getline(&line, &line_size, commands);
    if (length < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    rest = line;
    return next_word("command");
}

bool more_words(void) { return rest != NULL; }

const char *next_word(const char *meaning) {
    if (rest == NULL) {
        refuse("missing word: %s", meaning);
    }
    return strsep(&rest, " ");
}

static double parse_real(const char *word, const char *meaning) {
    char *end;
    double value = strtod(word, &end);
    if (end == word || *end != '\0') {
        refuse("%s is no real number: %s", meaning, word);
    }
    return value;
}

static long parse_integer(const char *word, const char *meaning) {
    char *end;
    errno = 0;
    long value = strtol(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0) {
        refuse("%s is no integer: %s", meaning, word);
    }
    return value;
}

static int hexadecimal_digit(char character, const char *meaning) {
    if (!isxdigit((unsigned char)character)) {
        refuse("%s holds a character that is no hexadecimal digit", meaning);
    }
    return isdigit((unsigned char)character) ? character - '0'
                                             : tolower((unsigned char)character) - 'a' + 10;
}

static char hexadecimal_byte(const char *digits, const char *meaning) {
    int high = hexadecimal_digit(digits[0], meaning);
    return (char)(high * 16 + hexadecimal_digit(digits[1], meaning));
}

static const char *parse_string(const char *word, const char *meaning) {
    if (strcmp(word, "@null") == 0) {
        return NULL;
    }
    char *text = scratch(strlen(word) + 1);
    for (char *end = text; *word != '\0'; end++) {
        bool encoded = *word == '%';
        *end = encoded ? hexadecimal_byte(word + 1, meaning) : *word;
        word += encoded ? 3 : 1;
    }
    return text;
}

/* Understands @null:<count>; @null alone is a string. */
static bool is_null_array(const char *word, const char *meaning, size_t *count) {
    static const char mark[] = "@null:";
    if (strncmp(word, mark, sizeof mark - 1) != 0) {
        return false;
    }
    *count = (size_t)parse_integer(word + sizeof mark - 1, meaning);
    return true;
}

static struct list next_list(const char *meaning) {
    struct list list = {0};
    char *word = (char *)next_word(meaning);
    if (is_null_array(word, meaning, &list.count)) {
        list.is_null = true;
        return list;
    }
    list.items = scratch((strlen(word) + 1) * sizeof *list.items);
    if (strcmp(word, "@empty") == 0) {
        return list;
    }
    while (word != NULL) {
        list.items[list.count++] = strsep(&word, ",");
    }
    return list;
}

double next_real(const char *meaning) { return parse_real(next_word(meaning), meaning); }

long next_integer(const char *meaning) { return parse_integer(next_word(meaning), meaning); }

const char *next_string(const char *meaning) { return parse_string(next_word(meaning), meaning); }

/* Every array is an allocation of its own, so that a memory checker sees reads beyond it. */
#define DEFINE_ARRAY(function, type, parse)                     \
    static type *function(const char *meaning, size_t *count) { \
        struct list list = next_list(meaning);                  \
        *count = list.count;                                    \
        if (list.is_null) {                                     \
            return NULL;                                        \
        }                                                       \
        type *data = scratch(list.count * sizeof *data);        \
        for (size_t i = 0; i < list.count; i++) {               \
            data[i] = (type)parse(list.items[i], meaning);      \
        }                                                       \
        return data;                                            \
    }

DEFINE_ARRAY(references_array, fmi2ValueReference, parse_integer)
DEFINE_ARRAY(reals_array, fmi2Real, parse_real)
DEFINE_ARRAY(integers_array, fmi2Integer, parse_integer)
DEFINE_ARRAY(strings_array, fmi2String, parse_string)

fmi2ValueReference *next_references(size_t *count) {
    return references_array("value references", count);
}

fmi2Real *next_reals(const char *meaning, size_t *count) { return reals_array(meaning, count); }

fmi2Integer *next_integers(const char *meaning, size_t *count) {
    return integers_array(meaning, count);
}

fmi2String *next_strings(const char *meaning, size_t *count) {
    return strings_array(meaning, count);
}

fmi2Byte *next_bytes(const char *meaning, size_t *count) {
    const char *word = next_word(meaning);
    if (is_null_array(word, meaning, count)) {
        return NULL;
    }
    if (strlen(word) % 2 != 0) {
        refuse("%s has half a byte at its end", meaning);
    }
    *count = strlen(word) / 2;
    fmi2Byte *bytes = scratch(*count);
    for (size_t i = 0; i < *count; i++) {
        bytes[i] = hexadecimal_byte(word + 2 * i, meaning);
    }
    return bytes;
}

size_t encode(char *buffer, size_t size, const char *text) {
    size_t length = 0;
    if (text == NULL) {
        return (size_t)snprintf(buffer, size, "@null");
    }
    for (; *text != '\0' && length + 4 <= size; text++) {
        bool plain = isalnum((unsigned char)*text) || strchr("_.-~", *text) != NULL;
        const char *format = plain ? "%c" : "%%%02X";
        length += (size_t)snprintf(buffer + length, size - length, format, (unsigned char)*text);
    }
    buffer[length] = '\0';
    return length;
}

static void begin_value(void) {
    fputs(values_begun ? " " : "values ", replies);
    values_begun = true;
}

void reply_real(double value) {
    begin_value();
    fprintf(replies, "%a", value);
}

void reply_integer(long value) {
    begin_value();
    fprintf(replies, "%ld", value);
}

void reply_string(const char *text) {
    size_t size = text == NULL ? sizeof "@null" : 3 * strlen(text) + 1;
    char *encoded = scratch(size);
    encode(encoded, size, text);
    begin_value();
    fputs(encoded, replies);
}

void reply_bytes(const fmi2Byte *bytes, size_t count) {
    begin_value();
    for (size_t i = 0; i < count; i++) {
        fprintf(replies, "%02x", (unsigned char)bytes[i]);
    }
}

static void end_reply(const char *last_line) {
    if (values_begun) {
        fputc('\n', replies);
    }
    values_begun = false;
    write_messages(replies);
    fprintf(replies, "%s\n", last_line);
    fflush(replies);
    free_scratch();
}

void finish(fmi2Status status) {
    char text[32];
    snprintf(text, sizeof text, "done %d", (int)status);
    end_reply(text);
}

void finish_without_status(void) { end_reply("done -"); }

void refuse(const char *format, ...) {
    char reason[1024];
    char encoded[3 * sizeof reason];
    char last_line[sizeof encoded + sizeof "refused "];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    encode(encoded, sizeof encoded, reason);
    snprintf(last_line, sizeof last_line, "refused %s", encoded);
    end_reply(last_line);
    longjmp(refused, 1);
}
