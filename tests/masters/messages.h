/* The log callback that every instance gets, and the record of what it was told. */
#ifndef MASTERS_MESSAGES_H
#define MASTERS_MESSAGES_H

#include <stdio.h>

#include "fmi2FunctionTypes.h"
#include "fmi2TypesPlatform.h"

/* The fmi2CallbackLogger; may be called from any thread. */
void record_message(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status,
                    fmi2String category, fmi2String message, ...);
/* Writes the messages that arrived since the last time, and forgets them. */
void write_messages(FILE *stream);

#endif
