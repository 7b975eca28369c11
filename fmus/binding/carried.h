/* What a standalone FMU carries: whether it is all there, as it was packed. */
#ifndef SENSOR_FMUS_CARRIED_H
#define SENSOR_FMUS_CARRIED_H

#include <stddef.h>

/* Compares the files in the home of a carried interpreter with what the build wrote down of them.
   Returns 0 and fills `error` with the first file that differs. */
int is_carried_whole(const char *home, char *error, size_t error_size);

#endif
