/* Saved states, see core.h. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* The state of a handle if it belongs to this instance, else NULL with a message. */
static SavedState *find_state(Instance *instance, void *handle, const char *function) {
    SavedState *state = handle_find(STATE_HANDLE, handle);
    if (state && state->owner == instance) return state;
    report_error(instance, "%s: this is no state of this instance, or it was freed.", function);
    return NULL;
}

/* Takes a Python state into the handle that the host holds, or into a new one. Consumes it. */
static Result keep_state(Instance *instance, PyObject *content, void **handle,
                         const char *function) {
    if (!content) return finish_call(instance, NULL, function);
    if (*handle) { /* checked by the caller: one of ours, to be used again */
        SavedState *known = handle_find(STATE_HANDLE, *handle);
        Py_DecRef(known->content);
        known->content = content;
        events_save(instance, known);
        return RESULT_OK;
    }
    SavedState *state = malloc(sizeof *state);
    void *new_handle = state ? handle_new(STATE_HANDLE, state) : NULL;
    if (!new_handle) {
        free(state);
        Py_DecRef(content);
        return report_error(instance, "%s: out of memory.", function);
    }
    *state = (SavedState){content, 0, NULL, instance, instance->states, new_handle};
    events_save(instance, state);
    instance->states = state;
    *handle = new_handle;
    return RESULT_OK;
}

void free_states(Instance *instance) {
    while (instance->states) {
        SavedState *state = instance->states;
        instance->states = state->next;
        handle_free(state->handle);
        Py_DecRef(state->content);
        free(state->ticks);
        free(state);
    }
}

Result core_get_state(Instance *instance, void **state, const char *function) {
    if (!state) return report_error(instance, "%s: the state is NULL.", function);
    if (*state && !find_state(instance, *state, function)) return RESULT_ERROR;
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *content =
        PyObject_CallMethod(instance->slave, "_get_fmu_state", "i", instance->phase);
    Result status = keep_state(instance, content, state, function);
    python_unlock(&hold);
    return status;
}

static int is_phase(long number) {
    return number == INSTANTIATED || number == INITIALIZING || number == STEPPING ||
           number == TERMINATED;
}

/* Takes in a state; the object answers with the phase it was taken in. Needs the lock. */
static Result take_in(Instance *instance, SavedState *state, const char *function) {
    PyObject *answer =
        PyObject_CallMethod(instance->slave, "_set_fmu_state", "(O)", state->content);
    long phase = answer ? PyLong_AsLong(answer) : 0;
    if (answer && PyErr_Occurred()) {
        Py_DecRef(answer);
        answer = NULL;
    }
    Result status = finish_call(instance, answer, function);
    if (status == RESULT_OK && !is_phase(phase))
        status = report_error(instance, "%s: the state is of no phase (%ld).", function, phase);
    if (status == RESULT_OK) instance->phase = (Phase)phase;
    instance->is_stale = 1;
    if (status == RESULT_OK) {
        arrays_restored(instance);
        events_restore(instance, state);
    }
    take_compiled_step(instance);
    return status;
}

Result core_set_state(Instance *instance, void *handle, const char *function) {
    SavedState *state = find_state(instance, handle, function);
    PythonHold hold;
    if (!state || !enter_python(instance, &hold, function)) return RESULT_ERROR;
    Result status = take_in(instance, state, function);
    python_unlock(&hold);
    return status;
}

Result core_free_state(Instance *instance, void **handle, const char *function) {
    if (!handle || !*handle) return RESULT_OK;
    SavedState *state = find_state(instance, *handle, function);
    PythonHold hold;
    if (!state || !enter_python(instance, &hold, function)) return RESULT_ERROR;
    SavedState **link = &instance->states;
    while (*link != state) link = &(*link)->next;
    *link = state->next;
    handle_free(*handle);
    *handle = NULL;
    Py_DecRef(state->content);
    python_unlock(&hold);
    free(state->ticks);
    free(state);
    return RESULT_OK;
}

/* The bytes of a state as Python object, or NULL with the exception pending. Needs the lock. */
static PyObject *serialized(Instance *instance, SavedState *state) {
    return PyObject_CallMethod(instance->slave, "_fmu_state_to_bytes", "(O)", state->content);
}

Result core_state_size(Instance *instance, void *handle, size_t *size, const char *function) {
    SavedState *state = find_state(instance, handle, function);
    if (!state) return RESULT_ERROR;
    if (!size) return report_error(instance, "%s: the size is NULL.", function);
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *bytes = serialized(instance, state);
    if (bytes) *size = (size_t)PyBytes_Size(bytes);
    Result status = finish_call(instance, bytes, function);
    python_unlock(&hold);
    return status;
}

Result core_serialize_state(Instance *instance, void *handle, char target[], size_t size,
                            const char *function) {
    SavedState *state = find_state(instance, handle, function);
    if (!state) return RESULT_ERROR;
    if (!target) return report_error(instance, "%s: the buffer is NULL.", function);
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *bytes = serialized(instance, state);
    size_t needed = bytes ? (size_t)PyBytes_Size(bytes) : 0;
    Result status = RESULT_OK;
    if (bytes && needed > size)
        status = report_error(instance, "%s: the buffer has %zu bytes, the state needs %zu.",
                              function, size, needed);
    else if (bytes)
        memcpy(target, PyBytes_AsString(bytes), needed);
    Result finished = finish_call(instance, bytes, function);
    python_unlock(&hold);
    return status == RESULT_OK ? finished : status;
}

Result core_deserialize_state(Instance *instance, const char source[], size_t size, void **state,
                              const char *function) {
    if (!source || !state) return report_error(instance, "%s: an argument is NULL.", function);
    if (*state && !find_state(instance, *state, function)) return RESULT_ERROR;
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *bytes = PyBytes_FromStringAndSize(source, (Py_ssize_t)size);
    PyObject *content =
        bytes ? PyObject_CallMethod(instance->slave, "_fmu_state_from_bytes", "(O)", bytes) : NULL;
    if (bytes) Py_DecRef(bytes);
    Result status = keep_state(instance, content, state, function);
    python_unlock(&hold);
    return status;
}
