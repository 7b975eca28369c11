/* Checking what a standalone FMU carries, see carried.h.

   A library that is half unpacked ends the process when its missing pages are read, and a damaged
   one does whatever it does. So all files are read before the first of them is opened as a
   library; they are needed soon anyway.

   digests.txt has a line for each file: two sums, the length, and its path in the home; its last
   line is `end`. Of the words of 8 bytes (the last one filled up with zeros) the first sum is that of the words, and the
   second that of the first sums so far: damage of one word shows in the first, words that changed
   places in the second. */
#include "carried.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "platform.h"

typedef struct {
    uint64_t sum, sum_of_sums, size;
} Digest;

#define WORDS 8192

static int digest_of(const char *path, Digest *digest) {
    static uint64_t words[WORDS]; /* used under the process's lock */
    size_t read;
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    setvbuf(file, NULL, _IONBF, 0);
    memset(digest, 0, sizeof *digest);
    while ((read = fread(words, 1, sizeof words, file)) > 0) {
        memset((char *)words + read, 0, -read % sizeof *words);
        for (size_t i = 0; i * sizeof *words < read; i++)
            digest->sum_of_sums += digest->sum += words[i];
        digest->size += read;
    }
    int complete = !ferror(file);
    fclose(file);
    return complete;
}

static int is_whole(const char *home, const char *name, const Digest *packed, char *error,
                    size_t error_size) {
    char path[2 * PATH_SIZE];
    Digest found;
    snprintf(path, sizeof path, "%s%c%s", home, PATH_SEPARATOR, name);
    if (!digest_of(path, &found)) {
        snprintf(error, error_size, "'%s' cannot be read: %s", path, strerror(errno));
        return 0;
    }
    if (!memcmp(&found, packed, sizeof found)) return 1;
    snprintf(error, error_size,
             "'%s' (%llu bytes) is not what was packed (%llu bytes): unpack the FMU anew", path,
             (unsigned long long)found.size, (unsigned long long)packed->size);
    return 0;
}

/* One line of the list. */
static int check_line(const char *home, const char *line, char *error, size_t error_size) {
    unsigned long long sum, sum_of_sums, size;
    int name = 0;
    if (sscanf(line, "%llx %llx %llu %n", &sum, &sum_of_sums, &size, &name) != 3 || !name) {
        snprintf(error, error_size, "its list of files is damaged: unpack the FMU anew");
        return 0;
    }
    Digest packed = {sum, sum_of_sums, size};
    return is_whole(home, line + name, &packed, error, error_size);
}

int is_carried_whole(const char *home, char *error, size_t error_size) {
    char path[PATH_SIZE + 32], line[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s%cdigests.txt", home, PATH_SEPARATOR);
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, error_size, "'%s' cannot be read: %s", path, strerror(errno));
        return 0;
    }
    int whole = 1, ended = 0;
    while (whole && !ended && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        ended = !strcmp(line, "end");
        whole = ended || check_line(home, line, error, error_size);
    }
    fclose(file);
    if (whole && !ended)
        snprintf(error, error_size, "'%s' is not complete: unpack the FMU anew", path);
    return whole && ended;
}
