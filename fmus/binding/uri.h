/* Turning a resource location into a path. */
#ifndef SENSOR_FMUS_URI_H
#define SENSOR_FMUS_URI_H

#include <stddef.h>

/* Writes the path that a file URI names (or the path itself, for hosts that pass one), with its
   percent signs decoded if it is taken as encoded. Returns 0 if it names no local directory or is
   too long. */
int path_from_uri(const char *uri, int encoded, char *path, size_t size);

#endif
