/* FMI 2.0 for co-simulation on top of a Python object (`SensorFmu`, a pythonfmu slave).

   fmi2_binding.c   the exported functions: order of calls, life cycle, values, states
   messages.c       log messages and exceptions      handles.c  what a host may pass as instance
   python_api.c     starting Python, its lock         uri.c      resource locations
   python_finder.c  which Python

   Values live in arrays that this file and the Python object share. Setting checks type, range
   and phase right here and needs no Python; the object is asked only for the words of a refusal.

   Every function can be called at any time with any handle: what does not fit is answered with
   fmi2Error and a message, and changes nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "instance.h"
#include "platform.h"
#include "python_api.h"
#include "uri.h"

#define ANY_PHASE (INSTANTIATED | INITIALIZING | STEPPING | TERMINATED)
#define RUNNING (INITIALIZING | STEPPING | TERMINATED)
#define SETTABLE (INSTANTIATED | INITIALIZING | STEPPING)

static const char *phase_name(Phase phase) {
    switch (phase) {
    case INSTANTIATED: return "after instantiation";
    case INITIALIZING: return "in initialization mode";
    case STEPPING: return "between steps";
    case TERMINATED: return "after termination";
    }
    return "in an unknown phase";
}

/* The instance of a handle if the function may be called now; else NULL, with a message where
   there is somebody to tell. */
static Instance *enter(fmi2Component handle, unsigned phases, const char *function) {
    Instance *instance = handle_find(INSTANCE_HANDLE, handle);
    if (!instance) return NULL;
    if (!(instance->phase & phases)) {
        report_error(instance, "%s cannot be called %s.", function, phase_name(instance->phase));
        return NULL;
    }
    if (!Py_IsInitialized()) return NULL; /* the Python of the host has ended before us */
    return instance;
}

/* ---- calling the Python object --------------------------------------------------------- */

/* Ends a call: its result, or its exception as message. Consumes `result`. */
static fmi2Status finish(Instance *instance, PyObject *result, const char *function) {
    fmi2Status status = result ? fmi2OK : report_exception(instance, function);
    if (result) Py_DecRef(result);
    send_waiting_messages(instance);
    return status;
}

static fmi2Status call(Instance *instance, const char *method, const char *function) {
    int token = python_lock();
    fmi2Status status =
        finish(instance, PyObject_CallMethod(instance->slave, method, NULL), function);
    python_unlock(token);
    return status;
}

/* ---- life cycle -------------------------------------------------------------------------- */

static void *address(PyObject *storage, Py_ssize_t item) {
    return PyLong_AsVoidPtr(PyTuple_GetItem(storage, item));
}

/* Reads where the variables of one type are: first, count, values, minimum, maximum, access. */
static Py_ssize_t read_variables(PyObject *storage, Py_ssize_t item, Variables *variables) {
    variables->first = (fmi2ValueReference)(size_t)address(storage, item);
    variables->count = (size_t)address(storage, item + 1);
    variables->values = address(storage, item + 2);
    variables->minimum = address(storage, item + 3);
    variables->maximum = address(storage, item + 4);
    variables->access = address(storage, item + 5);
    return item + 6;
}

static int read_storage(Instance *instance, PyObject *slave) {
    PyObject *storage = PyObject_CallMethod(slave, "storage", NULL);
    if (!storage) return 0;
    Py_ssize_t item = read_variables(storage, 0, &instance->reals);
    item = read_variables(storage, item, &instance->integers);
    item = read_variables(storage, item, &instance->booleans);
    read_variables(storage, item, &instance->strings);
    Py_DecRef(storage);
    return !PyErr_Occurred();
}

static void release_slave(Instance *instance) {
    if (instance->messages) Py_DecRef(instance->messages);
    if (instance->slave) Py_DecRef(instance->slave);
    instance->messages = instance->slave = NULL;
}

/* Makes a new Python object and takes it in place of the old one, which stays if that fails. */
static int create_slave(Instance *instance, const char *function) {
    PyObject *slave = PyObject_CallFunction(python_loader("instantiate"), "sssi", instance->name,
                                            instance->resources, instance->guid,
                                            instance->visible);
    PyObject *messages = slave ? PyObject_GetAttrString(slave, "log_queue") : NULL;
    if (!messages || !read_storage(instance, slave)) {
        report_exception(instance, function);
        if (messages) Py_DecRef(messages);
        if (slave) Py_DecRef(slave);
        return 0;
    }
    release_slave(instance);
    instance->slave = slave;
    instance->messages = messages;
    instance->phase = INSTANTIATED;
    send_waiting_messages(instance);
    return 1;
}

static void free_texts(Instance *instance) {
    for (size_t i = 0; instance->texts && i < instance->strings.count; i++)
        free(instance->texts[i]);
    free(instance->texts);
    instance->texts = NULL;
}

static void free_instance(Instance *instance) {
    free_texts(instance);
    free(instance->name);
    free(instance->guid);
    free(instance->resources);
    free(instance);
}

static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy) strcpy(copy, text);
    return copy;
}

static int has_loader(const char *resources) {
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s%cfmu_loader.py", resources, PATH_SEPARATOR);
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* The resources directory of a URI. Some hosts do not encode theirs: then it is taken as it is. */
static int find_resources(const char *uri, char *path) {
    if (!path_from_uri(uri, path, PATH_SIZE)) return 0;
    if (has_loader(path) || strncmp(uri, "file://", 7) != 0) return 1;
    if (strlen(uri + 7) < PATH_SIZE && has_loader(uri + 7)) strcpy(path, uri + 7);
    return 1;
}

/* Why the arguments of fmi2Instantiate do not do, or NULL. */
static const char *argument_problem(fmi2String name, fmi2Type type, fmi2String guid,
                                    fmi2String resources) {
    if (!name || !name[0]) return "the instance name is missing";
    if (type != fmi2CoSimulation) return "this FMU is for co-simulation only";
    if (!guid) return "the GUID is missing";
    if (!resources) return "the resource location is missing";
    return NULL;
}

static fmi2Component start_instance(Instance *instance, fmi2String uri) {
    char path[PATH_SIZE], error[16 * PATH_SIZE];
    if (!find_resources(uri, path)) {
        report_error(instance, "fmi2Instantiate: resource location '%s' is no local directory.",
                     uri);
        return NULL;
    }
    if (!has_loader(path)) {
        report_error(instance,
                     "fmi2Instantiate: resource location '%s' holds no fmu_loader.py: no FMU is"
                     " unpacked there.",
                     uri);
        return NULL;
    }
    instance->resources = copy_text(path);
    if (!python_start(path, error, sizeof error)) {
        send_message(instance, fmi2Error, "logStatusError", error);
        return NULL;
    }
    int token = python_lock();
    int created = create_slave(instance, "fmi2Instantiate");
    fmi2Component handle = NULL;
    if (created) {
        instance->texts = calloc(instance->strings.count + 1, sizeof *instance->texts);
        handle = handle_new(INSTANCE_HANDLE, instance);
    }
    if (!handle) release_slave(instance);
    python_unlock(token);
    return handle;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid,
                              fmi2String resources, const fmi2CallbackFunctions *callbacks,
                              fmi2Boolean visible, fmi2Boolean logging_on) {
    Instance *instance = callbacks ? calloc(1, sizeof *instance) : NULL;
    if (!instance) return NULL;
    instance->callbacks = *callbacks;
    instance->visible = visible;
    instance->logging_on = logging_on;
    instance->name = copy_text(name ? name : "");
    instance->guid = copy_text(guid ? guid : "");
    const char *problem = argument_problem(name, type, guid, resources);
    if (problem) report_error(instance, "fmi2Instantiate: %s.", problem);
    fmi2Component handle = problem ? NULL : start_instance(instance, resources);
    if (!handle) free_instance(instance);
    return handle;
}

static void free_states(Instance *instance) {
    while (instance->states) {
        SavedState *state = instance->states;
        instance->states = state->next;
        handle_free(state->handle);
        Py_DecRef(state->content);
        free(state);
    }
}

void fmi2FreeInstance(fmi2Component handle) {
    Instance *instance = handle_find(INSTANCE_HANDLE, handle);
    if (!instance) return;
    handle_free(handle);
    if (Py_IsInitialized()) {
        int token = python_lock();
        finish(instance, PyObject_CallMethod(instance->slave, "close", NULL),
               "fmi2FreeInstance");
        free_states(instance);
        release_slave(instance);
        python_unlock(token);
    }
    free_instance(instance);
}

fmi2Status fmi2Reset(fmi2Component handle) {
    Instance *instance = enter(handle, ANY_PHASE, "fmi2Reset");
    if (!instance) return fmi2Error;
    int token = python_lock();
    fmi2Status status =
        finish(instance, PyObject_CallMethod(instance->slave, "close", NULL), "fmi2Reset");
    if (!create_slave(instance, "fmi2Reset")) status = fmi2Error;
    python_unlock(token);
    return status;
}

fmi2Status fmi2SetupExperiment(fmi2Component handle, fmi2Boolean tolerance_defined,
                               fmi2Real tolerance, fmi2Real start, fmi2Boolean stop_defined,
                               fmi2Real stop) {
    (void)tolerance_defined, (void)tolerance; /* nothing here integrates */
    (void)stop_defined, (void)stop;           /* a sensor measures as long as it is stepped */
    Instance *instance = enter(handle, INSTANTIATED, "fmi2SetupExperiment");
    if (!instance) return fmi2Error;
    int token = python_lock();
    PyObject *result =
        PyObject_CallMethod(instance->slave, "setup_experiment", "d", start);
    fmi2Status status = finish(instance, result, "fmi2SetupExperiment");
    python_unlock(token);
    return status;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component handle) {
    Instance *instance = enter(handle, INSTANTIATED, "fmi2EnterInitializationMode");
    if (!instance) return fmi2Error;
    fmi2Status status = call(instance, "enter_initialization_mode", "fmi2EnterInitializationMode");
    if (status == fmi2OK) instance->phase = INITIALIZING;
    return status;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component handle) {
    Instance *instance = enter(handle, INITIALIZING, "fmi2ExitInitializationMode");
    if (!instance) return fmi2Error;
    fmi2Status status = call(instance, "exit_initialization_mode", "fmi2ExitInitializationMode");
    if (status == fmi2OK) instance->phase = STEPPING;
    return status;
}

fmi2Status fmi2Terminate(fmi2Component handle) {
    Instance *instance = enter(handle, STEPPING, "fmi2Terminate");
    if (!instance) return fmi2Error;
    fmi2Status status = call(instance, "terminate", "fmi2Terminate");
    instance->phase = TERMINATED;
    return status;
}

fmi2Status fmi2DoStep(fmi2Component handle, fmi2Real time, fmi2Real step,
                      fmi2Boolean no_set_state_before) {
    (void)no_set_state_before;
    Instance *instance = enter(handle, STEPPING, "fmi2DoStep");
    if (!instance) return fmi2Error;
    int token = python_lock();
    PyObject *result = PyObject_CallMethod(instance->slave, "do_step", "dd", time, step);
    fmi2Status status = finish(instance, result, "fmi2DoStep");
    python_unlock(token);
    return status;
}

/* ---- values ------------------------------------------------------------------------------ */

static int is_settable(const Instance *instance, const Variables *variables, size_t i) {
    unsigned char access = variables->access[i];
    return access == SET_ALWAYS || (access == SET_BEFORE_START && instance->phase != STEPPING);
}

/* Whether all references are variables of this type and the arrays are there. */
static int are_known(Instance *instance, const Variables *variables,
                     const fmi2ValueReference references[], size_t count, const void *values,
                     const char *function) {
    if (count > 0 && (!references || !values)) {
        report_error(instance, "%s: an array is NULL.", function);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (references[i] - variables->first < variables->count) continue;
        report_error(instance, "%s: value reference %u is no variable of this type.", function,
                     references[i]);
        return 0;
    }
    return 1;
}

/* Sends the reason why a value cannot be set. Consumes `value`, needs the lock. */
static fmi2Status refuse(Instance *instance, fmi2ValueReference reference, PyObject *value,
                         const char *function) {
    PyObject *number = PyLong_FromSize_t(reference);
    PyObject *result = PyObject_CallMethod(instance->slave, "refuse", "OOi", number, value,
                                           instance->phase == STEPPING);
    Py_DecRef(number);
    Py_DecRef(value);
    finish(instance, result, function);
    return fmi2Error;
}

fmi2Status fmi2SetReal(fmi2Component handle, const fmi2ValueReference references[], size_t count,
                       const fmi2Real values[]) {
    Instance *instance = enter(handle, SETTABLE, "fmi2SetReal");
    if (!instance) return fmi2Error;
    const Variables *reals = &instance->reals;
    if (!are_known(instance, reals, references, count, values, "fmi2SetReal")) return fmi2Error;
    const double *minimum = reals->minimum, *maximum = reals->maximum;
    double *target = reals->values;
    for (size_t n = 0; n < count; n++) {
        size_t i = references[n] - reals->first;
        if (isfinite(values[n]) && values[n] >= minimum[i] && values[n] <= maximum[i] &&
            is_settable(instance, reals, i))
            continue;
        int token = python_lock();
        refuse(instance, references[n], PyFloat_FromDouble(values[n]), "fmi2SetReal");
        python_unlock(token);
        return fmi2Error;
    }
    for (size_t n = 0; n < count; n++) target[references[n] - reals->first] = values[n];
    return fmi2OK;
}

/* Integers and booleans are both `int` in FMI; booleans have no range. */
static fmi2Status set_integers(Instance *instance, const Variables *variables,
                               const fmi2ValueReference references[], size_t count,
                               const int values[], const char *function) {
    if (!are_known(instance, variables, references, count, values, function)) return fmi2Error;
    const int *minimum = variables->minimum, *maximum = variables->maximum;
    int *target = variables->values;
    for (size_t n = 0; n < count; n++) {
        size_t i = references[n] - variables->first;
        int in_range = !minimum || (values[n] >= minimum[i] && values[n] <= maximum[i]);
        if (in_range && is_settable(instance, variables, i)) continue;
        int token = python_lock();
        refuse(instance, references[n], PyLong_FromLong(values[n]), function);
        python_unlock(token);
        return fmi2Error;
    }
    for (size_t n = 0; n < count; n++)
        target[references[n] - variables->first] = minimum ? values[n] : values[n] != 0;
    return fmi2OK;
}

fmi2Status fmi2SetInteger(fmi2Component handle, const fmi2ValueReference references[],
                          size_t count, const fmi2Integer values[]) {
    Instance *instance = enter(handle, SETTABLE, "fmi2SetInteger");
    if (!instance) return fmi2Error;
    return set_integers(instance, &instance->integers, references, count, values,
                        "fmi2SetInteger");
}

fmi2Status fmi2SetBoolean(fmi2Component handle, const fmi2ValueReference references[],
                          size_t count, const fmi2Boolean values[]) {
    Instance *instance = enter(handle, SETTABLE, "fmi2SetBoolean");
    if (!instance) return fmi2Error;
    return set_integers(instance, &instance->booleans, references, count, values,
                        "fmi2SetBoolean");
}

/* A Python list of value references, and one of texts. */
static PyObject *reference_list(const fmi2ValueReference references[], size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromSize_t(references[i]));
    return list;
}

static PyObject *text_list(const fmi2String values[], size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++) {
        PyObject *text = PyUnicode_FromString(values[i] ? values[i] : "");
        if (!text) {
            Py_DecRef(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, text);
    }
    return list;
}

fmi2Status fmi2SetString(fmi2Component handle, const fmi2ValueReference references[],
                         size_t count, const fmi2String values[]) {
    const char *function = "fmi2SetString";
    Instance *instance = enter(handle, SETTABLE, function);
    if (!instance) return fmi2Error;
    const Variables *strings = &instance->strings;
    if (!are_known(instance, strings, references, count, values, function)) return fmi2Error;
    int token = python_lock();
    fmi2Status status = fmi2OK;
    for (size_t n = 0; n < count && status == fmi2OK; n++)
        if (!is_settable(instance, strings, references[n] - strings->first))
            status = refuse(instance, references[n],
                            PyUnicode_FromString("(a text)"), function);
    if (status == fmi2OK) {
        PyObject *texts = text_list(values, count);
        PyObject *list = reference_list(references, count);
        PyObject *result =
            texts ? PyObject_CallMethod(instance->slave, "set_string", "OO", list, texts) : NULL;
        status = finish(instance, result, function);
        Py_DecRef(list);
        if (texts) Py_DecRef(texts);
    }
    python_unlock(token);
    return status;
}

fmi2Status fmi2GetReal(fmi2Component handle, const fmi2ValueReference references[], size_t count,
                       fmi2Real values[]) {
    Instance *instance = enter(handle, ANY_PHASE, "fmi2GetReal");
    if (!instance) return fmi2Error;
    const Variables *reals = &instance->reals;
    if (!are_known(instance, reals, references, count, values, "fmi2GetReal")) return fmi2Error;
    const double *source = reals->values;
    for (size_t n = 0; n < count; n++) values[n] = source[references[n] - reals->first];
    return fmi2OK;
}

static fmi2Status get_integers(Instance *instance, const Variables *variables,
                               const fmi2ValueReference references[], size_t count, int values[],
                               const char *function) {
    if (!are_known(instance, variables, references, count, values, function)) return fmi2Error;
    const int *source = variables->values;
    for (size_t n = 0; n < count; n++) values[n] = source[references[n] - variables->first];
    return fmi2OK;
}

fmi2Status fmi2GetInteger(fmi2Component handle, const fmi2ValueReference references[],
                          size_t count, fmi2Integer values[]) {
    Instance *instance = enter(handle, ANY_PHASE, "fmi2GetInteger");
    if (!instance) return fmi2Error;
    return get_integers(instance, &instance->integers, references, count, values,
                        "fmi2GetInteger");
}

fmi2Status fmi2GetBoolean(fmi2Component handle, const fmi2ValueReference references[],
                          size_t count, fmi2Boolean values[]) {
    Instance *instance = enter(handle, ANY_PHASE, "fmi2GetBoolean");
    if (!instance) return fmi2Error;
    return get_integers(instance, &instance->booleans, references, count, values,
                        "fmi2GetBoolean");
}

/* Keeps a copy of a Python text, so that the host's pointer outlives the Python object. */
static int keep_text(Instance *instance, size_t i, PyObject *text) {
    PyObject *bytes = PyUnicode_AsUTF8String(text);
    char *copy = bytes ? copy_text(PyBytes_AsString(bytes)) : NULL;
    if (bytes) Py_DecRef(bytes);
    if (!copy) return 0;
    free(instance->texts[i]);
    instance->texts[i] = copy;
    return 1;
}

fmi2Status fmi2GetString(fmi2Component handle, const fmi2ValueReference references[],
                         size_t count, fmi2String values[]) {
    const char *function = "fmi2GetString";
    Instance *instance = enter(handle, ANY_PHASE, function);
    if (!instance) return fmi2Error;
    const Variables *strings = &instance->strings;
    if (!are_known(instance, strings, references, count, values, function)) return fmi2Error;
    int token = python_lock();
    PyObject *list = reference_list(references, count);
    PyObject *texts = PyObject_CallMethod(instance->slave, "get_string", "(O)", list);
    int complete = texts && PyList_Size(texts) == (Py_ssize_t)count;
    for (size_t n = 0; complete && n < count; n++) {
        size_t i = references[n] - strings->first;
        complete = keep_text(instance, i, PyList_GetItem(texts, (Py_ssize_t)n));
        values[n] = instance->texts[i];
    }
    if (texts && !complete) {
        Py_DecRef(texts);
        texts = NULL;
    }
    fmi2Status status = finish(instance, texts, function);
    Py_DecRef(list);
    python_unlock(token);
    return status;
}

/* ---- states ------------------------------------------------------------------------------- */

/* The state of a handle if it belongs to this instance, else NULL with a message. */
static SavedState *find_state(Instance *instance, fmi2FMUstate handle, const char *function) {
    SavedState *state = handle_find(STATE_HANDLE, handle);
    if (state && state->owner == instance) return state;
    report_error(instance, "%s: this is no state of this instance, or it was freed.", function);
    return NULL;
}

/* Takes a Python state into the handle that the host holds, or into a new one. Consumes it. */
static fmi2Status keep_state(Instance *instance, PyObject *content, fmi2FMUstate *handle,
                             const char *function) {
    if (!content) return finish(instance, NULL, function);
    if (*handle) { /* checked by the caller: one of ours, to be used again */
        SavedState *known = handle_find(STATE_HANDLE, *handle);
        Py_DecRef(known->content);
        known->content = content;
        return fmi2OK;
    }
    SavedState *state = malloc(sizeof *state);
    void *new_handle = state ? handle_new(STATE_HANDLE, state) : NULL;
    if (!new_handle) {
        free(state);
        Py_DecRef(content);
        return report_error(instance, "%s: out of memory.", function);
    }
    *state = (SavedState){content, instance, instance->states, new_handle};
    instance->states = state;
    *handle = new_handle;
    return fmi2OK;
}

fmi2Status fmi2GetFMUstate(fmi2Component handle, fmi2FMUstate *state) {
    const char *function = "fmi2GetFMUstate";
    Instance *instance = enter(handle, ANY_PHASE, function);
    if (!instance) return fmi2Error;
    if (!state) return report_error(instance, "%s: the state is NULL.", function);
    if (*state && !find_state(instance, *state, function)) return fmi2Error;
    int token = python_lock();
    PyObject *content =
        PyObject_CallMethod(instance->slave, "_get_fmu_state", "i", instance->phase);
    fmi2Status status = keep_state(instance, content, state, function);
    python_unlock(token);
    return status;
}

fmi2Status fmi2SetFMUstate(fmi2Component handle, fmi2FMUstate state_handle) {
    const char *function = "fmi2SetFMUstate";
    Instance *instance = enter(handle, ANY_PHASE, function);
    SavedState *state = instance ? find_state(instance, state_handle, function) : NULL;
    if (!state) return fmi2Error;
    int token = python_lock();
    PyObject *phase =
        PyObject_CallMethod(instance->slave, "_set_fmu_state", "(O)", state->content);
    long taken_in = phase ? PyLong_AsLong(phase) : 0;
    if (taken_in > 0) instance->phase = (Phase)taken_in;
    fmi2Status status = finish(instance, phase, function);
    python_unlock(token);
    return status;
}

fmi2Status fmi2FreeFMUstate(fmi2Component handle, fmi2FMUstate *state_handle) {
    const char *function = "fmi2FreeFMUstate";
    Instance *instance = enter(handle, ANY_PHASE, function);
    if (!instance) return fmi2Error;
    if (!state_handle || !*state_handle) return fmi2OK;
    SavedState *state = find_state(instance, *state_handle, function);
    if (!state) return fmi2Error;
    SavedState **link = &instance->states;
    while (*link != state) link = &(*link)->next;
    *link = state->next;
    handle_free(*state_handle);
    *state_handle = NULL;
    int token = python_lock();
    Py_DecRef(state->content);
    python_unlock(token);
    free(state);
    return fmi2OK;
}

/* The bytes of a state as Python object, or NULL with the exception pending. Needs the lock. */
static PyObject *serialized(Instance *instance, SavedState *state) {
    return PyObject_CallMethod(instance->slave, "_fmu_state_to_bytes", "(O)", state->content);
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component handle, fmi2FMUstate state_handle,
                                      size_t *size) {
    const char *function = "fmi2SerializedFMUstateSize";
    Instance *instance = enter(handle, ANY_PHASE, function);
    SavedState *state = instance ? find_state(instance, state_handle, function) : NULL;
    if (!state) return fmi2Error;
    if (!size) return report_error(instance, "%s: the size is NULL.", function);
    int token = python_lock();
    PyObject *bytes = serialized(instance, state);
    if (bytes) *size = (size_t)PyBytes_Size(bytes);
    fmi2Status status = finish(instance, bytes, function);
    python_unlock(token);
    return status;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component handle, fmi2FMUstate state_handle,
                                 fmi2Byte target[], size_t size) {
    const char *function = "fmi2SerializeFMUstate";
    Instance *instance = enter(handle, ANY_PHASE, function);
    SavedState *state = instance ? find_state(instance, state_handle, function) : NULL;
    if (!state) return fmi2Error;
    if (!target) return report_error(instance, "%s: the buffer is NULL.", function);
    int token = python_lock();
    PyObject *bytes = serialized(instance, state);
    size_t needed = bytes ? (size_t)PyBytes_Size(bytes) : 0;
    fmi2Status status = fmi2OK;
    if (bytes && needed > size)
        status = report_error(instance, "%s: the buffer has %zu bytes, the state needs %zu.",
                              function, size, needed);
    else if (bytes)
        memcpy(target, PyBytes_AsString(bytes), needed);
    fmi2Status finished = finish(instance, bytes, function);
    python_unlock(token);
    return status == fmi2OK ? finished : status;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component handle, const fmi2Byte source[], size_t size,
                                   fmi2FMUstate *state) {
    const char *function = "fmi2DeSerializeFMUstate";
    Instance *instance = enter(handle, ANY_PHASE, function);
    if (!instance) return fmi2Error;
    if (!source || !state) return report_error(instance, "%s: an argument is NULL.", function);
    if (*state && !find_state(instance, *state, function)) return fmi2Error;
    int token = python_lock();
    PyObject *bytes = PyBytes_FromStringAndSize(source, (Py_ssize_t)size);
    PyObject *content =
        bytes ? PyObject_CallMethod(instance->slave, "_fmu_state_from_bytes", "(O)", bytes) : NULL;
    if (bytes) Py_DecRef(bytes);
    fmi2Status status = keep_state(instance, content, state, function);
    python_unlock(token);
    return status;
}

/* ---- inquiries ----------------------------------------------------------------------------- */

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

fmi2Status fmi2SetDebugLogging(fmi2Component handle, fmi2Boolean logging_on, size_t count,
                               const fmi2String categories[]) {
    Instance *instance = enter(handle, ANY_PHASE, "fmi2SetDebugLogging");
    if (!instance || !choose_categories(instance, count, categories)) return fmi2Error;
    instance->logging_on = logging_on;
    return fmi2OK;
}

/* Steps are never pending, so there is no status to ask for but these two. */
fmi2Status fmi2GetRealStatus(fmi2Component handle, const fmi2StatusKind kind, fmi2Real *value) {
    Instance *instance = enter(handle, RUNNING, "fmi2GetRealStatus");
    if (!instance || !value) return fmi2Error;
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    int token = python_lock();
    PyObject *time = PyObject_GetAttrString(instance->slave, "time");
    if (time) *value = PyFloat_AsDouble(time);
    fmi2Status status = finish(instance, time, "fmi2GetRealStatus");
    python_unlock(token);
    return status;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component handle, const fmi2StatusKind kind,
                                fmi2Boolean *value) {
    Instance *instance = enter(handle, RUNNING, "fmi2GetBooleanStatus");
    if (!instance || !value) return fmi2Error;
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = fmi2False; /* a sensor never ends the simulation */
    return fmi2OK;
}

static fmi2Status no_status(fmi2Component handle, const char *function) {
    return enter(handle, RUNNING, function) ? fmi2Discard : fmi2Error;
}

fmi2Status fmi2GetStatus(fmi2Component handle, const fmi2StatusKind kind, fmi2Status *value) {
    (void)kind, (void)value;
    return no_status(handle, "fmi2GetStatus");
}

fmi2Status fmi2GetIntegerStatus(fmi2Component handle, const fmi2StatusKind kind,
                                fmi2Integer *value) {
    (void)kind, (void)value;
    return no_status(handle, "fmi2GetIntegerStatus");
}

fmi2Status fmi2GetStringStatus(fmi2Component handle, const fmi2StatusKind kind,
                               fmi2String *value) {
    (void)kind, (void)value;
    return no_status(handle, "fmi2GetStringStatus");
}

/* ---- what modelDescription.xml says we do not do -------------------------------------------- */

static fmi2Status unsupported(fmi2Component handle, const char *function) {
    Instance *instance = enter(handle, ANY_PHASE, function);
    if (instance) report_error(instance, "%s is not supported by this FMU.", function);
    return fmi2Error;
}

/* Each of these has its own arguments, none of which matters. */
#define UNSUPPORTED(name, ...)                                                               \
    fmi2Status name(fmi2Component handle, ##__VA_ARGS__) { return unsupported(handle, #name); }

#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

typedef const fmi2ValueReference *References;

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
UNSUPPORTED(fmi2SetRealInputDerivatives, References r, size_t n, const fmi2Integer *o,
            const fmi2Real *v)
UNSUPPORTED(fmi2GetRealOutputDerivatives, References r, size_t n, const fmi2Integer *o,
            fmi2Real *v)
UNSUPPORTED(fmi2GetDirectionalDerivative, References z, size_t nz, References v, size_t nv,
            const fmi2Real *dv, fmi2Real *dz)
UNSUPPORTED(fmi2CancelStep)
UNSUPPORTED(fmi2EnterEventMode)
UNSUPPORTED(fmi2NewDiscreteStates, fmi2EventInfo *info)
UNSUPPORTED(fmi2EnterContinuousTimeMode)
UNSUPPORTED(fmi2CompletedIntegratorStep, fmi2Boolean no_set, fmi2Boolean *event,
            fmi2Boolean *terminate)
UNSUPPORTED(fmi2SetTime, fmi2Real time)
UNSUPPORTED(fmi2SetContinuousStates, const fmi2Real *x, size_t n)
UNSUPPORTED(fmi2GetDerivatives, fmi2Real *dx, size_t n)
UNSUPPORTED(fmi2GetEventIndicators, fmi2Real *z, size_t n)
UNSUPPORTED(fmi2GetContinuousStates, fmi2Real *x, size_t n)
UNSUPPORTED(fmi2GetNominalsOfContinuousStates, fmi2Real *x, size_t n)
