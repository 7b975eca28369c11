/* A co-simulation FMU on top of a Python object, whatever the version of FMI.

   fmi2.c, fmi3.c   the functions that a version of FMI exports: its names and types
   core.c           life cycle and steps         values.c   getting and setting
   arrays.c         variables with dimensions    events.c   what happened in a step
   states.c         saved states                 handles.c  what a host may pass as instance
   messages.c       log messages, exceptions     process.c  what there is once a process
   python_api.c     starting Python, its lock    uri.c      resource locations
   python_finder.c  which Python

   Values live in arrays that these files and the Python object share. Setting checks type, range
   and phase right here and needs no Python; the object is asked only for the words of a refusal.

   Every function can be called at any time with any handle: what does not fit is answered with
   an error and a message, and changes nothing. `function` is the name that messages give it. */
#ifndef SENSOR_FMUS_CORE_H
#define SENSOR_FMUS_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "python_api.h"

/* What a call came to; the numbers are those of FMI 2 and FMI 3. */
typedef enum { RESULT_OK, RESULT_WARNING, RESULT_DISCARD, RESULT_ERROR } Result;

/* Where an instance is in its life; a set of phases is their sum. */
typedef enum { INSTANTIATED = 1, INITIALIZING = 2, STEPPING = 4, TERMINATED = 8 } Phase;
#define ANY_PHASE (INSTANTIATED | INITIALIZING | STEPPING | TERMINATED)
#define RUNNING (INITIALIZING | STEPPING | TERMINATED)
#define SETTABLE (INSTANTIATED | INITIALIZING | STEPPING)

/* Who may set a variable, as the Python side declares it for each one. */
typedef enum { NEVER_SET = 0, SET_BEFORE_START = 1, SET_ALWAYS = 2 } Access;

typedef unsigned int ValueReference;

/* The values of all variables of one type. The memory belongs to the Python object; its models
   work on the same memory, so that setting and getting need no Python at all. */
typedef struct {
    ValueReference first; /* value references of a type are consecutive */
    size_t count;
    void *values;
    const void *minimum, *maximum; /* NULL for booleans */
    const unsigned char *access;
} Variables;

/* What an array holds. A number of seconds, and the ticks of a clock, are arrays of one. */
typedef enum {
    TIME_ARRAY,    /* the time of the simulation; no scalars */
    REAL_ARRAY,
    INTEGER_ARRAY,
    CHOICE_ARRAY,
    BOOLEAN_ARRAY,
    STRING_ARRAY,
    MESSAGE_ARRAY, /* bytes; the scalars are the halves of their address, and their number */
    FRAME_ARRAY,   /* bytes; `first` is the place among the frames */
    CLOCK_ARRAY    /* the scalar is a counter: the clock ticks when it changes */
} ArrayKind;

/* A variable with dimensions: scalars, in the order of its elements. */
typedef struct {
    uint32_t kind;
    uint32_t first, count; /* among `Arrays.scalars` */
} Array;

/* The newest bytes of a frame; the memory is kept by the Python object. */
typedef struct {
    uint64_t address, size;
    uint64_t is_pending; /* they are not at hand yet: Python makes them when somebody asks */
} FrameBytes;

/* All variables with dimensions; there are none where the host sees the scalars. */
typedef struct {
    size_t count;
    const Array *all;
    const ValueReference *scalars;
    FrameBytes *frames;
} Arrays;

/* What an instance knows of events, for hosts that ask for them. */
typedef struct {
    int is_used;            /* whether the host enters event mode */
    int is_on;              /* whether it is in it */
    int may_return_early;
    int *counts;            /* of each array that is a clock: its counter when it was last looked at */
    unsigned char *ticks;   /* and whether it ticks now */
} Events;

/* Passes a message on to the host. `callbacks` is what the version of FMI has for that. */
typedef void SendMessage(const void *callbacks, const char *instance, Result status,
                         const char *category, const char *message);

/* A step that needs no Python: 0 if it was made, anything else if nothing was changed. */
typedef int32_t CompiledStep(void *context, double time, double step);

typedef struct SavedState SavedState;

typedef struct {
    PyObject *slave;    /* the object of the FMU's class */
    PyObject *messages; /* its list of waiting messages */
    Phase phase;
    int version; /* of FMI, its first number */
    Variables reals, integers, booleans, strings;
    Arrays arrays;
    Events events;
    char **messages_in; /* for each array: what the host gave for it, if it is an input of bytes */
    char **texts; /* the last text given out for each String variable */
    SavedState *states;
    CompiledStep *compiled_step; /* NULL: steps go through Python */
    void *compiled_context;
    int has_compiled_step, computes_initially; /* whether the object has these methods */
    int is_stale; /* in initialization mode: something was set since outputs were computed */
    SendMessage *send;
    void *callbacks;
    char *name, *guid, *resources;
    int visible, logging_on;
    unsigned categories; /* chosen log categories, one bit each; 0 means all */
} Instance;

/* One state that the host holds. */
struct SavedState {
    PyObject *content;
    int in_event_mode;
    unsigned char *ticks; /* of the clocks, see Events; NULL for none */
    Instance *owner;
    SavedState *next;
    void *handle;
};

/* What a host says of an instance that it wants; texts may be NULL. */
typedef struct {
    int version; /* of FMI, its first number */
    const char *name, *guid, *resources;
    int visible, logging_on;
    SendMessage *send;
    const void *callbacks; /* copied */
    size_t callbacks_size;
} Wish;

/* ---- life cycle (core.c) ----------------------------------------------------------------- */

/* A new instance's handle, or NULL. `problem` says why the wish cannot be met, or is NULL. */
void *core_instantiate(const Wish *wish, const char *problem, const char *function);
/* The instance of a handle if the function may be called now; else NULL, with a message where
   there is somebody to tell. */
Instance *core_enter(void *handle, unsigned phases, const char *function);
void core_free(void *handle, const char *function);
Result core_reset(Instance *instance, const char *function);
Result core_set_start(Instance *instance, double start, const char *function);
Result core_begin_initialization(Instance *instance, const char *function);
Result core_end_initialization(Instance *instance, const char *function);
Result core_terminate(Instance *instance, const char *function);
Result core_step(Instance *instance, double time, double step, const char *function);
/* The end of the last step that was made. */
Result core_time(Instance *instance, double *time, const char *function);

/* ---- values (values.c) --------------------------------------------------------------------- */

Result core_set_reals(Instance *instance, const ValueReference references[], size_t count,
                      const double values[], const char *function);
Result core_set_integers(Instance *instance, const ValueReference references[], size_t count,
                         const int values[], const char *function);
Result core_set_booleans(Instance *instance, const ValueReference references[], size_t count,
                         const int values[], const char *function);
Result core_set_strings(Instance *instance, const ValueReference references[], size_t count,
                        const char *const values[], const char *function);
Result core_get_reals(Instance *instance, const ValueReference references[], size_t count,
                      double values[], const char *function);
Result core_get_integers(Instance *instance, const ValueReference references[], size_t count,
                         int values[], const char *function);
Result core_get_booleans(Instance *instance, const ValueReference references[], size_t count,
                         int values[], const char *function);
/* The texts stay valid until the same variable is got again. */
Result core_get_strings(Instance *instance, const ValueReference references[], size_t count,
                        const char *values[], const char *function);

/* ---- arrays (arrays.c) ---------------------------------------------------------------------- */

/* The scalars of some arrays, in order. */
typedef struct {
    size_t count;
    const ValueReference *references;
    ValueReference some[64], *own; /* the memory of few, and that of many */
} Scalars;

/* Fills `scalars` with those of arrays of one kind; `count` is how many values the host has for
   them. Returns 0 with a message if these do not fit. To be freed, whatever it returns. */
int scalars_of(Instance *instance, ArrayKind kind, const ValueReference references[], size_t arrays,
               size_t count, const void *values, Scalars *scalars, const char *function);
void scalars_free(Scalars *scalars);
/* An array of one of two kinds, or NULL with a message. */
const Array *array_of(Instance *instance, ValueReference reference, ArrayKind kind,
                      ArrayKind or_kind, const char *function);
/* The bytes of an array; valid until the next step or state. */
Result core_get_bytes(Instance *instance, const Array *array, const unsigned char **bytes,
                      size_t *size, const char *function);
/* Copies bytes that the host gives for an input. */
Result core_set_bytes(Instance *instance, ValueReference reference, const unsigned char *bytes,
                      size_t size, const char *function);
int arrays_begin(Instance *instance);
/* After a state: what the host gave for inputs of bytes is where it was. */
void arrays_restored(Instance *instance);
void arrays_free(Instance *instance);

/* ---- events (events.c) ---------------------------------------------------------------------- */

int events_begin(Instance *instance);
void events_free(Instance *instance);
/* Looks which counters have changed since the last look; returns whether any did. */
int events_look(Instance *instance);
/* Takes the counters as they are, so that nothing ticks. */
void events_settle(Instance *instance);
/* With a state goes whether it is in event mode, and which clocks tick there. What was read from
   bytes is in the mode in which it was read. */
void events_save(const Instance *instance, SavedState *state);
void events_restore(Instance *instance, const SavedState *state);
/* The end of a step that is to end where a frame is taken: `end`, or an instant before. */
Result core_early_end(Instance *instance, double time, double *end, const char *function);

/* ---- states (states.c) ---------------------------------------------------------------------- */

Result core_get_state(Instance *instance, void **state, const char *function);
Result core_set_state(Instance *instance, void *state, const char *function);
Result core_free_state(Instance *instance, void **state, const char *function);
Result core_state_size(Instance *instance, void *state, size_t *size, const char *function);
Result core_serialize_state(Instance *instance, void *state, char target[], size_t size,
                            const char *function);
Result core_deserialize_state(Instance *instance, const char source[], size_t size, void **state,
                              const char *function);
/* Needs Python's lock. */
void free_states(Instance *instance);

/* ---- handles (handles.c) --------------------------------------------------------------------- */

/* Handles are numbers, not addresses: a NULL, foreign or freed one is recognised without
   touching memory that may be gone. */
typedef enum { INSTANCE_HANDLE, STATE_HANDLE } HandleKind;
void *handle_new(HandleKind kind, void *object);
void *handle_find(HandleKind kind, void *handle);
void handle_free(void *handle);

/* ---- messages (messages.c) --------------------------------------------------------------------- */

/* Warnings and errors are delivered whatever the host chose. */
void send_message(Instance *instance, Result status, const char *category, const char *message);
Result report_error(Instance *instance, const char *format, ...);
Result choose_categories(Instance *instance, size_t count, const char *const names[],
                         const char *function);

/* With Python's lock held: the pending exception becomes an error message; waiting messages are
   sent. */
Result report_exception(Instance *instance, const char *function);
void send_waiting_messages(Instance *instance);

/* ---- calling Python ------------------------------------------------------------------------------ */

/* Takes Python's lock; 0, with a message, if this thread cannot run Python. */
int enter_python(Instance *instance, PythonHold *hold, const char *function);
/* Ends a call: its result, or its exception as message. Consumes `result`, needs the lock. */
Result finish_call(Instance *instance, PyObject *result, const char *function);
/* Asks the Python object for the step that needs no Python. Needs the lock. */
void take_compiled_step(Instance *instance);

#endif
