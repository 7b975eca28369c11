/* The commands that call one function of an FMU each; they bear the function's name. */
#ifndef MASTERS_CALLS_H
#define MASTERS_CALLS_H

#include "libraries.h"
#include "protocol.h"

extern const struct command call_commands[];

/* What fmi2Instantiate is called with, besides the callbacks. */
struct identity {
    fmi2String name;
    fmi2Type type;
    fmi2String guid;
    fmi2String resources;
    fmi2Boolean visible;
    fmi2Boolean logging;
};

struct identity next_identity(void);
/* Fills the slot of an instance-to-be with its library and all callbacks. */
void give_callbacks(struct instance *instance, struct library *library);
fmi2Component create(fmi2InstantiateTYPE *instantiate, const struct identity *identity,
                     const fmi2CallbackFunctions *callbacks);

#endif
