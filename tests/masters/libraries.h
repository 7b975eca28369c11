/* What commands address by name: loaded FMU libraries, instances and FMU states. */
#ifndef MASTERS_LIBRARIES_H
#define MASTERS_LIBRARIES_H

#include "fmi2FunctionTypes.h"
#include "fmi2TypesPlatform.h"

enum { WORD_LIMIT = 64 };

struct library {
    char name[WORD_LIMIT];
    void *handle;
};

struct instance {
    char name[WORD_LIMIT];
    struct library *library;
    /* Kept after fmi2FreeInstance, so that calls on a freed instance can be tried. */
    fmi2Component component;
    fmi2CallbackFunctions callbacks;
};

/* What a call goes to. */
struct target {
    struct library *library;
    fmi2Component component;
};

/* The function of a library by its FMI name, with its FMI type; a missing one is refused. */
#define FUNCTION(library, name) ((name##TYPE *)function_of((library), #name))
/* The address of a function, whose name the caller vouches for. */
void *function_of(const struct library *library, const char *name);

void load(void);
void unload(void);
void list_missing_functions(void);

struct library *next_library(void);
/* The slot of an instance that is to be created; a used name is used again. */
struct instance *next_new_instance(void);
/* An instance by name, or @null/<library>, @wild/<library>, @foreign/<library>,
 * @of:<instance>/<library>. */
struct target next_target(void);
/* A state by name, made on first use; @null, @wild, @foreign stand for bad handles. */
fmi2FMUstate *next_state(void);
/* The same for calls that take the handle's address, where @nowhere is NULL. */
fmi2FMUstate *next_state_address(void);
void copy_state(void);

/* The instance whose callbacks carry this environment, or @unknown. */
const char *name_of_environment(fmi2ComponentEnvironment environment);

#endif
