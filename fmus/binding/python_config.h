/* Starting a Python whose failure is an error, and not the end of the host. */
#ifndef SENSOR_FMUS_PYTHON_CONFIG_H
#define SENSOR_FMUS_PYTHON_CONFIG_H

#include "python_finder.h"

/* Starts the Python of an opened library. It leaves its host alone: no signal handlers, no
   environment variables (a bad PYTHONHOME would be fatal), and the locale stays. One that the FMU
   carries also looks for modules only where the FMU has them. Returns 0 and fills `error` if it
   does not start; no Python can be started in this process then. */
int python_initialize(void *library, const PythonPlace *place, char *error, size_t error_size);

#endif
