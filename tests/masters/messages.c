#include "messages.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "libraries.h"
#include "protocol.h"

enum { TEXT_LIMIT = 16384, RECORD_LIMIT = 1 << 20 };

/* Static memory of fixed size: a flood of messages must not look like a leak of the FMU. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[TEXT_LIMIT];
static char encoded[3][TEXT_LIMIT * 3];
static char record[RECORD_LIMIT];
static size_t recorded;
static size_t dropped;

static void append(const char *sender, fmi2Status status) {
    size_t space = RECORD_LIMIT - recorded;
    int length = snprintf(record + recorded, space, "message %s %s %d %s %s\n", sender, encoded[0],
                          (int)status, encoded[1], encoded[2]);
    if (length < 0 || (size_t)length >= space) {
        record[recorded] = '\0';
        dropped++;
        return;
    }
    recorded += (size_t)length;
}

void record_message(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status,
                    fmi2String category, fmi2String message, ...) {
    pthread_mutex_lock(&lock);
    va_list arguments;
    va_start(arguments, message);
    vsnprintf(text, sizeof text, message == NULL ? "" : message, arguments);
    va_end(arguments);
    encode(encoded[0], sizeof encoded[0], instance);
    encode(encoded[1], sizeof encoded[1], category);
    encode(encoded[2], sizeof encoded[2], message == NULL ? NULL : text);
    append(name_of_environment(environment), status);
    pthread_mutex_unlock(&lock);
}

void write_messages(FILE *stream) {
    pthread_mutex_lock(&lock);
    fwrite(record, 1, recorded, stream);
    if (dropped > 0) {
        fprintf(stream, "dropped %zu\n", dropped);
    }
    recorded = 0;
    dropped = 0;
    pthread_mutex_unlock(&lock);
}
