/* Instances, their handles and their messages. */
#ifndef SENSOR_FMUS_INSTANCE_H
#define SENSOR_FMUS_INSTANCE_H

#include "fmi2Functions.h"
#include "python_api.h"

/* Where an instance is in its life; a set of phases is their sum. */
typedef enum { INSTANTIATED = 1, INITIALIZING = 2, STEPPING = 4, TERMINATED = 8 } Phase;

/* Who may set a variable, as the Python side declares it for each one. */
typedef enum { NEVER_SET = 0, SET_BEFORE_START = 1, SET_ALWAYS = 2 } Access;

/* The values of all variables of one type. The memory belongs to the Python object; its models
   work on the same memory, so that setting and getting need no Python at all. */
typedef struct {
    fmi2ValueReference first; /* value references of a type are consecutive */
    size_t count;
    void *values;
    const void *minimum, *maximum; /* NULL for booleans */
    const unsigned char *access;
} Variables;

typedef struct SavedState SavedState;

typedef struct {
    PyObject *slave; /* the SensorFmu object */
    PyObject *messages; /* its list of waiting messages */
    Phase phase;
    Variables reals, integers, booleans, strings;
    char **texts; /* the last text given out for each String variable */
    SavedState *states;
    fmi2CallbackFunctions callbacks;
    char *name, *guid, *resources;
    fmi2Boolean visible, logging_on;
    unsigned categories; /* chosen log categories, one bit each; 0 means all */
} Instance;

/* One state that the host holds. */
struct SavedState {
    PyObject *content;
    Instance *owner;
    SavedState *next;
    void *handle;
};

/* Handles are numbers, not addresses: a NULL, foreign or freed one is recognised without
   touching memory that may be gone. */
typedef enum { INSTANCE_HANDLE, STATE_HANDLE } HandleKind;
void *handle_new(HandleKind kind, void *object);
void *handle_find(HandleKind kind, void *handle);
void handle_free(void *handle);

/* Messages to the host. Warnings and errors are delivered whatever the host chose. */
void send_message(Instance *instance, fmi2Status status, const char *category,
                  const char *message);
fmi2Status report_error(Instance *instance, const char *format, ...);
int choose_categories(Instance *instance, size_t count, const fmi2String names[]);

/* With Python's lock held: the pending exception becomes an error message; waiting messages are
   sent. Both return the status of the call. */
fmi2Status report_exception(Instance *instance, const char *function);
void send_waiting_messages(Instance *instance);

#endif
