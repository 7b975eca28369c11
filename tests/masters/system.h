/* Commands for what the system does to a host: limits, and children by fork. */
#ifndef MASTERS_SYSTEM_H
#define MASTERS_SYSTEM_H

#include "protocol.h"

extern const struct command system_commands[];

#endif
