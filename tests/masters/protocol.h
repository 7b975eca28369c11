/* The line protocol of the master: reading the words of a command, writing its reply.
 *
 * The next_... functions take one word each; `meaning` names it in the refusal of a bad one.
 * What they return lives until the command's reply is finished. */
#ifndef MASTERS_PROTOCOL_H
#define MASTERS_PROTOCOL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include "fmi2FunctionTypes.h"
#include "fmi2TypesPlatform.h"

/* One command: its name and the function that carries it out. */
struct command {
    const char *name;
    void (*run)(void);
};

/* Where a refused command continues: the interpreter's loop. */
extern jmp_buf refused;

/* Takes over stdin and stdout, so that nothing an FMU reads or prints meets the protocol. */
void open_protocol(void);
/* Reads the next command and returns its name, or NULL at the end of the input. */
const char *read_command(void);
/* Answers that the command was not carried out, and does not return. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory that lives as long as the command. */
void *scratch(size_t size);

bool more_words(void);
const char *next_word(const char *meaning);
double next_real(const char *meaning);
long next_integer(const char *meaning);
/* A percent-encoded string; NULL for @null. */
const char *next_string(const char *meaning);
/* Comma lists; NULL for @null:<count>, an array of length 0 for @empty. */
fmi2ValueReference *next_references(size_t *count);
fmi2Real *next_reals(const char *meaning, size_t *count);
fmi2Integer *next_integers(const char *meaning, size_t *count);
fmi2String *next_strings(const char *meaning, size_t *count);
/* Bytes as hexadecimal digits; NULL for @null:<count>. */
fmi2Byte *next_bytes(const char *meaning, size_t *count);

void reply_real(double value);
void reply_integer(long value);
void reply_string(const char *text);
void reply_bytes(const fmi2Byte *bytes, size_t count);
/* Ends the reply to a command that made a call with a status, or one without. */
void finish(fmi2Status status);
void finish_without_status(void);

/* Writes text percent-encoded (or @null) to the buffer, cut where the buffer ends. */
size_t encode(char *buffer, size_t size, const char *text);

#endif
