/* Life cycle and steps, see core.h. */
#include "core.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "process.h"
#include "text.h"
#include "uri.h"

/* Stack that Python needs in the calling thread. Measured: a thread of 192 kB is enough to compile
   all kernels of the lidar from nothing, one of 128 kB is not. */
#define STACK_NEEDED ((size_t)256 * 1024)

static const char *phase_name(Phase phase) {
    switch (phase) {
    case INSTANTIATED: return "after instantiation";
    case INITIALIZING: return "in initialization mode";
    case STEPPING: return "between steps";
    case TERMINATED: return "after termination";
    }
    return "in an unknown phase";
}

Instance *core_enter(void *handle, unsigned phases, const char *function) {
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

int enter_python(Instance *instance, PythonHold *hold, const char *function) {
    size_t left = stack_left();
    if (left < STACK_NEEDED) {
        report_error(instance,
                     "%s: this thread has %zu kB of stack left and Python needs %zu kB: call from"
                     " a thread with a larger stack.",
                     function, left / 1024, STACK_NEEDED / 1024);
        return 0;
    }
    python_lock(hold);
    return 1;
}

Result finish_call(Instance *instance, PyObject *result, const char *function) {
    Result status = result ? RESULT_OK : report_exception(instance, function);
    if (result) Py_DecRef(result);
    send_waiting_messages(instance);
    return status;
}

static Result call(Instance *instance, const char *method, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    Result status =
        finish_call(instance, PyObject_CallMethod(instance->slave, method, NULL), function);
    python_unlock(&hold);
    return status;
}

/* ---- instances --------------------------------------------------------------------------- */

static void *address(PyObject *storage, Py_ssize_t item) {
    return PyLong_AsVoidPtr(PyTuple_GetItem(storage, item));
}

/* Reads where the variables of one type are: first, count, values, minimum, maximum, access. */
static Py_ssize_t read_variables(PyObject *storage, Py_ssize_t item, Variables *variables) {
    variables->first = (ValueReference)(size_t)address(storage, item);
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
    item = read_variables(storage, item, &instance->strings);
    if (PyTuple_Size(storage) > item) {
        instance->arrays.count = (size_t)address(storage, item);
        instance->arrays.all = address(storage, item + 1);
        instance->arrays.scalars = address(storage, item + 2);
        instance->arrays.frames = address(storage, item + 3);
    }
    Py_DecRef(storage);
    return !PyErr_Occurred();
}

static void release_slave(Instance *instance) {
    if (instance->messages) Py_DecRef(instance->messages);
    if (instance->slave) Py_DecRef(instance->slave);
    instance->messages = instance->slave = NULL;
    instance->compiled_step = NULL;
}

/* Makes a new Python object and takes it in place of the old one, which stays if that fails. */
static int create_slave(Instance *instance, const char *function) {
    PyObject *slave = PyObject_CallFunction(python_loader("instantiate"), "sssii", instance->name,
                                            instance->resources, instance->guid,
                                            instance->visible, instance->version);
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
    instance->has_compiled_step = PyObject_HasAttrString(slave, "compiled_step");
    instance->computes_initially = PyObject_HasAttrString(slave, "compute_initial");
    instance->phase = INSTANTIATED;
    instance->is_stale = 1;
    send_waiting_messages(instance);
    return 1;
}

static void free_instance(Instance *instance) {
    for (size_t i = 0; instance->texts && i < instance->strings.count; i++)
        free(instance->texts[i]);
    free(instance->texts);
    arrays_free(instance);
    events_free(instance);
    free(instance->name);
    free(instance->guid);
    free(instance->resources);
    free(instance->callbacks);
    free(instance);
}

static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy) strcpy(copy, text);
    return copy;
}

/* Refuses a text that is not in UTF-8: Python would not take it, and could not say which it is. */
static int is_text(Instance *instance, const char *what, const char *text, const char *function) {
    char shown[1024];
    if (!text || is_utf8(text)) return 1;
    report_error(instance, "%s: the %s '%s' is not text in UTF-8.", function, what,
                 show_bytes(text, shown, sizeof shown));
    return 0;
}

/* 0 if the FMU is unpacked in a directory, else what the system says of its loader. */
static int loader_problem(const char *resources) {
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s%cfmu_loader.py", resources, PATH_SEPARATOR);
    FILE *file = fopen(path, "rb");
    int problem = file ? 0 : errno;
    if (file) fclose(file);
    return problem;
}

/* The resources directory of a URI, or NULL with a message. Some hosts do not encode theirs: then
   it is taken as it is. */
static char *find_resources(Instance *instance, const char *uri, const char *function) {
    char path[PATH_SIZE];
    int problem = 0;
    for (int encoded = 1; encoded >= 0; encoded--) {
        if (!path_from_uri(uri, encoded, path, sizeof path)) continue;
        int found = loader_problem(path);
        if (!found) return copy_text(path);
        /* What else than being absent keeps it from being read is the better reason. */
        if (!problem || problem == ENOENT || problem == ENOTDIR) problem = found;
    }
    if (!problem)
        report_error(instance, "%s: resource location '%s' is no local directory.", function, uri);
    else if (problem == ENOENT || problem == ENOTDIR)
        report_error(instance,
                     "%s: resource location '%s' holds no fmu_loader.py: no FMU is unpacked"
                     " there.",
                     function, uri);
    else
        report_error(instance, "%s: fmu_loader.py at resource location '%s' cannot be read: %s.",
                     function, uri, strerror(problem));
    return NULL;
}

static void *start_instance(Instance *instance, const char *uri, const char *function) {
    static const size_t error_size = 16 * PATH_SIZE;
    instance->resources = find_resources(instance, uri, function);
    if (!instance->resources ||
        !is_text(instance, "path of the resources", instance->resources, function))
        return NULL;
    if (stack_left() >= STACK_NEEDED) {
        char *error = calloc(1, error_size);
        int started = error && python_start(instance->resources, error, error_size);
        if (!started)
            send_message(instance, RESULT_ERROR, "logStatusError", error ? error : "no memory");
        free(error);
        if (!started) return NULL;
    }
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return NULL;
    void *handle = NULL;
    if (create_slave(instance, function)) {
        instance->texts = calloc(instance->strings.count + 1, sizeof *instance->texts);
        if (instance->texts && arrays_begin(instance) && events_begin(instance))
            handle = handle_new(INSTANCE_HANDLE, instance);
    }
    if (!handle) release_slave(instance);
    python_unlock(&hold);
    return handle;
}

void *core_instantiate(const Wish *wish, const char *problem, const char *function) {
    Instance *instance = calloc(1, sizeof *instance);
    if (!instance) return NULL;
    instance->version = wish->version;
    instance->send = wish->send;
    instance->callbacks = malloc(wish->callbacks_size);
    if (instance->callbacks) memcpy(instance->callbacks, wish->callbacks, wish->callbacks_size);
    instance->visible = wish->visible;
    instance->logging_on = wish->logging_on;
    instance->name = copy_text(wish->name ? wish->name : "");
    instance->guid = copy_text(wish->guid ? wish->guid : "");
    void *handle = NULL;
    if (problem)
        report_error(instance, "%s: %s.", function, problem);
    else if (instance->callbacks && instance->name && instance->guid &&
             is_text(instance, "instance name", wish->name, function) &&
             is_text(instance, "GUID", wish->guid, function) &&
             is_text(instance, "resource location", wish->resources, function))
        handle = start_instance(instance, wish->resources, function);
    if (!handle) free_instance(instance);
    return handle;
}

void core_free(void *handle, const char *function) {
    Instance *instance = handle_find(INSTANCE_HANDLE, handle);
    if (!instance) return;
    if (Py_IsInitialized()) {
        PythonHold hold;
        if (!enter_python(instance, &hold, function)) return; /* the host still has the handle */
        handle_free(handle);
        finish_call(instance, PyObject_CallMethod(instance->slave, "close", NULL), function);
        free_states(instance);
        release_slave(instance);
        python_unlock(&hold);
    } else {
        handle_free(handle);
    }
    free_instance(instance);
}

/* ---- life cycle --------------------------------------------------------------------------- */

Result core_reset(Instance *instance, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    instance->compiled_step = NULL;
    Result status =
        finish_call(instance, PyObject_CallMethod(instance->slave, "close", NULL), function);
    if (!create_slave(instance, function)) status = RESULT_ERROR;
    python_unlock(&hold);
    return status;
}

Result core_set_start(Instance *instance, double start, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *result = PyObject_CallMethod(instance->slave, "setup_experiment", "d", start);
    Result status = finish_call(instance, result, function);
    python_unlock(&hold);
    return status;
}

Result core_begin_initialization(Instance *instance, const char *function) {
    Result status = call(instance, "enter_initialization_mode", function);
    if (status == RESULT_OK) instance->phase = INITIALIZING;
    instance->is_stale = 1;
    return status;
}

Result core_end_initialization(Instance *instance, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *result = PyObject_CallMethod(instance->slave, "exit_initialization_mode", NULL);
    if (result)
        instance->phase = STEPPING;
    else
        instance->is_stale = 1; /* the outputs that were computed went with the run */
    Result status = finish_call(instance, result, function);
    take_compiled_step(instance);
    python_unlock(&hold);
    return status;
}

Result core_terminate(Instance *instance, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    instance->compiled_step = NULL;
    instance->phase = TERMINATED;
    PyObject *result = PyObject_CallMethod(instance->slave, "terminate", NULL);
    Result status = finish_call(instance, result, function);
    python_unlock(&hold);
    return status;
}

/* ---- steps ---------------------------------------------------------------------------------- */

void take_compiled_step(Instance *instance) {
    instance->compiled_step = NULL;
    if (!instance->has_compiled_step || instance->phase != STEPPING) return;
    PyObject *pair = PyObject_CallMethod(instance->slave, "compiled_step", NULL);
    if (pair && PyTuple_Size(pair) == 2) {
        void *step = address(pair, 0), *context = address(pair, 1);
        if (!PyErr_Occurred()) {
            *(void **)&instance->compiled_step = step;
            instance->compiled_context = context;
        }
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        send_message(instance, RESULT_WARNING, "logStatusWarning",
                     "compiled_step() failed or gave no pair of addresses: steps go through"
                     " Python and are slower.");
    }
    if (pair) Py_DecRef(pair);
}

Result core_step(Instance *instance, double time, double step, const char *function) {
    /* What is no step at all is left to Python, which finds the words. */
    if (instance->compiled_step && step > 0.0 && isfinite(time) && isfinite(time + step) &&
        instance->compiled_step(instance->compiled_context, time, step) == 0)
        return RESULT_OK;
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *result = PyObject_CallMethod(instance->slave, "do_step", "dd", time, step);
    Result status = finish_call(instance, result, function);
    take_compiled_step(instance);
    python_unlock(&hold);
    return status;
}

Result core_time(Instance *instance, double *time, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *number = PyObject_GetAttrString(instance->slave, "time");
    if (number) *time = PyFloat_AsDouble(number);
    Result status = finish_call(instance, number, function);
    python_unlock(&hold);
    return status;
}
