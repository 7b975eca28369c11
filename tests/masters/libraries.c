#include "libraries.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "protocol.h"

enum { LIBRARY_LIMIT = 1024, INSTANCE_LIMIT = 1024, STATE_LIMIT = 4096, FOREIGN_SIZE = 4096 };

struct state {
    char name[WORD_LIMIT];
    fmi2FMUstate handle;
};

static struct library libraries[LIBRARY_LIMIT];
static struct instance instances[INSTANCE_LIMIT];
static struct state states[STATE_LIMIT];

/* Readable memory that no FMU has handed out. */
static _Alignas(64) char foreign[FOREIGN_SIZE];

/* An address that no process has mapped. */
static void *wild(void) { return (void *)(uintptr_t)0xdea0; }

/* The index of the entry with this name, or else of the first free one. */
static size_t find(const char *first_name, size_t stride, size_t limit, const char *name) {
    for (size_t i = 0; i < limit; i++) {
        const char *other = first_name + i * stride;
        if (*other == '\0' || strcmp(other, name) == 0) {
            return i;
        }
    }
    refuse("more than %zu names", limit);
}

#define FIND(table, limit, word) (&(table)[find((table)[0].name, sizeof *(table), (limit), (word))])

/* A word that can be a name; those with an @ stand for what is not in the tables. */
static const char *next_name(const char *meaning) {
    const char *name = next_word(meaning);
    if (*name == '\0' || strlen(name) >= WORD_LIMIT || strchr(name, '/') != NULL) {
        refuse("%s has a bad name", meaning);
    }
    return name;
}

void load(void) {
    const char *name = next_name("library");
    struct library *library = FIND(libraries, LIBRARY_LIMIT, name);
    if (library->handle != NULL) {
        refuse("library %s is already loaded", name);
    }
    void *handle = dlopen(next_string("path"), RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        refuse("%s", dlerror());
    }
    strcpy(library->name, name);
    library->handle = handle;
    finish_without_status();
}

static struct library *library_named(const char *name) {
    struct library *library = FIND(libraries, LIBRARY_LIMIT, name);
    if (library->handle == NULL) {
        refuse("library %s is not loaded", name);
    }
    return library;
}

struct library *next_library(void) { return library_named(next_word("library")); }

void unload(void) {
    struct library *library = next_library();
    int failure = dlclose(library->handle);
    library->handle = NULL;
    if (failure != 0) {
        refuse("%s", dlerror());
    }
    finish_without_status();
}

void list_missing_functions(void) {
    struct library *library = next_library();
    while (more_words()) {
        const char *name = next_word("function");
        if (dlsym(library->handle, name) == NULL) {
            reply_string(name);
        }
    }
    finish_without_status();
}

void *function_of(const struct library *library, const char *name) {
    if (library->handle == NULL) {
        refuse("library %s is not loaded", library->name);
    }
    void *address = dlsym(library->handle, name);
    if (address == NULL) {
        refuse("library %s has no function %s", library->name, name);
    }
    return address;
}

struct instance *next_new_instance(void) {
    const char *name = next_name("instance");
    if (*name == '@') {
        refuse("no instance can be called %s", name);
    }
    struct instance *instance = FIND(instances, INSTANCE_LIMIT, name);
    strcpy(instance->name, name);
    return instance;
}

/* The pointer that @null, @wild or @foreign stands for. */
static void *bad_pointer(const char *word) {
    if (strcmp(word, "@null") == 0) {
        return NULL;
    }
    if (strcmp(word, "@wild") == 0) {
        return wild();
    }
    if (strcmp(word, "@foreign") == 0) {
        return foreign;
    }
    refuse("unknown pointer %s", word);
}

static struct instance *instance_named(const char *name) {
    struct instance *instance = FIND(instances, INSTANCE_LIMIT, name);
    if (instance->library == NULL) {
        refuse("unknown instance %s", name);
    }
    return instance;
}

/* The component that a word with an @ stands for: another library's, or none at all. */
static fmi2Component bad_component(const char *word) {
    static const char mark[] = "@of:";
    size_t length = sizeof mark - 1;
    return strncmp(word, mark, length) == 0 ? instance_named(word + length)->component
                                            : bad_pointer(word);
}

struct target next_target(void) {
    char *word = (char *)next_word("instance");
    if (*word == '@') {
        const char *kind = strsep(&word, "/");
        struct library *library = library_named(word == NULL ? "" : word);
        return (struct target){.library = library, .component = bad_component(kind)};
    }
    struct instance *instance = instance_named(word);
    return (struct target){.library = instance->library, .component = instance->component};
}

static fmi2FMUstate *state_named(const char *name) {
    if (*name == '@') {
        fmi2FMUstate *state = scratch(sizeof *state);
        *state = bad_pointer(name);
        return state;
    }
    struct state *state = FIND(states, STATE_LIMIT, name);
    strcpy(state->name, name);
    return &state->handle;
}

fmi2FMUstate *next_state(void) { return state_named(next_name("state")); }

fmi2FMUstate *next_state_address(void) {
    const char *name = next_name("state");
    return strcmp(name, "@nowhere") == 0 ? NULL : state_named(name);
}

void copy_state(void) {
    fmi2FMUstate *from = next_state();
    fmi2FMUstate *to = next_state();
    *to = *from;
    finish_without_status();
}

const char *name_of_environment(fmi2ComponentEnvironment environment) {
    for (size_t i = 0; i < INSTANCE_LIMIT && instances[i].name[0] != '\0'; i++) {
        if (&instances[i] == environment) {
            return instances[i].name;
        }
    }
    return "@unknown";
}
