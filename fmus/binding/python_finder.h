/* Finding a Python to run in. */
#ifndef SENSOR_FMUS_PYTHON_FINDER_H
#define SENSOR_FMUS_PYTHON_FINDER_H

#include "platform.h"

/* Where a Python is: the interpreter, its library and its standard library. */
typedef struct {
    char executable[PATH_SIZE];
    char library[PATH_SIZE];
    char standard_library[PATH_SIZE];
    char version[16];
    char home[PATH_SIZE];         /* of an interpreter that the FMU carries, else empty */
    char folders[PATH_SIZE];      /* where it finds modules, from there, joined by colons */
    char needed[PATH_SIZE];       /* libraries that one needs, from there, joined by colons */
} PythonPlace;

/* Looks up a symbol in a library opened by `python_open`. */
void *python_symbol(void *library, const char *name);

/* The library of a Python that already runs in this process, or NULL. */
void *python_in_process(void);

/* Fills `place` with what the build recorded: an interpreter that it found, or the one that the FMU
   carries. Returns 0 and fills `error` if that one is not all there. */
int python_recorded(const char *resources, PythonPlace *place, char *error, size_t error_size);

/* Opens the library of a Python for this FMU: the one that it carries, if `place` has one; else
   that of the environment variable FMU_PYTHON, the place that was recorded when the FMU was built,
   then the usual names. Fills `place`, or returns NULL and fills `error` with all that was tried. */
void *python_open(const char *resources, PythonPlace *place, char *error, size_t error_size);

#endif
