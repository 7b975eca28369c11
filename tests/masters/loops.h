/* Commands for what is too fast, too long or too parallel for one line per call. */
#ifndef MASTERS_LOOPS_H
#define MASTERS_LOOPS_H

#include "protocol.h"

extern const struct command loop_commands[];

/* The resident memory of this process in bytes. */
long resident_memory(void);

#endif
