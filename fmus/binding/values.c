/* Getting and setting values, see core.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* Whether all references are variables of this type and the arrays are there. */
static int are_known(Instance *instance, const Variables *variables,
                     const ValueReference references[], size_t count, const void *values,
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

/* ---- setting ----------------------------------------------------------------------------- */

static int is_settable(const Instance *instance, const Variables *variables, size_t i) {
    unsigned char access = variables->access[i];
    return access == SET_ALWAYS || (access == SET_BEFORE_START && instance->phase != STEPPING);
}

/* Sends the reason why a value cannot be set. Consumes `value`, needs the lock. */
static Result explain_refusal(Instance *instance, ValueReference reference, PyObject *value,
                              const char *function) {
    PyObject *number = PyLong_FromSize_t(reference);
    PyObject *result = PyObject_CallMethod(instance->slave, "refuse", "OOi", number, value,
                                           instance->phase == STEPPING);
    Py_DecRef(number);
    Py_DecRef(value);
    finish_call(instance, result, function);
    return RESULT_ERROR;
}

static Result refuse_real(Instance *instance, ValueReference reference, double value,
                          const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    explain_refusal(instance, reference, PyFloat_FromDouble(value), function);
    python_unlock(&hold);
    return RESULT_ERROR;
}

static Result refuse_integer(Instance *instance, ValueReference reference, int value,
                             const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    explain_refusal(instance, reference, PyLong_FromLong(value), function);
    python_unlock(&hold);
    return RESULT_ERROR;
}

Result core_set_reals(Instance *instance, const ValueReference references[], size_t count,
                      const double values[], const char *function) {
    const Variables *reals = &instance->reals;
    if (!are_known(instance, reals, references, count, values, function)) return RESULT_ERROR;
    const double *minimum = reals->minimum, *maximum = reals->maximum;
    double *target = reals->values;
    for (size_t n = 0; n < count; n++) {
        size_t i = references[n] - reals->first;
        if (!isfinite(values[n]) || values[n] < minimum[i] || values[n] > maximum[i] ||
            !is_settable(instance, reals, i))
            return refuse_real(instance, references[n], values[n], function);
    }
    for (size_t n = 0; n < count; n++) target[references[n] - reals->first] = values[n];
    instance->is_stale = 1;
    return RESULT_OK;
}

Result core_set_integers(Instance *instance, const ValueReference references[], size_t count,
                         const int values[], const char *function) {
    const Variables *integers = &instance->integers;
    if (!are_known(instance, integers, references, count, values, function)) return RESULT_ERROR;
    const int *minimum = integers->minimum, *maximum = integers->maximum;
    int *target = integers->values;
    for (size_t n = 0; n < count; n++) {
        size_t i = references[n] - integers->first;
        if (values[n] < minimum[i] || values[n] > maximum[i] || !is_settable(instance, integers, i))
            return refuse_integer(instance, references[n], values[n], function);
    }
    for (size_t n = 0; n < count; n++) target[references[n] - integers->first] = values[n];
    instance->is_stale = 1;
    return RESULT_OK;
}

Result core_set_booleans(Instance *instance, const ValueReference references[], size_t count,
                         const int values[], const char *function) {
    const Variables *booleans = &instance->booleans;
    if (!are_known(instance, booleans, references, count, values, function)) return RESULT_ERROR;
    int *target = booleans->values;
    for (size_t n = 0; n < count; n++)
        if (!is_settable(instance, booleans, references[n] - booleans->first))
            return refuse_integer(instance, references[n], values[n], function);
    for (size_t n = 0; n < count; n++) target[references[n] - booleans->first] = values[n] != 0;
    instance->is_stale = 1;
    return RESULT_OK;
}

/* A Python list of value references. */
static PyObject *reference_list(const ValueReference references[], size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromSize_t(references[i]));
    return list;
}

/* A Python list of texts, or NULL with the reason sent. */
static PyObject *text_list(Instance *instance, const ValueReference references[], size_t count,
                           const char *const values[], const char *function) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++) {
        const char *value = values[i] ? values[i] : "";
        PyObject *text = PyUnicode_FromString(value);
        if (text) {
            PyList_SetItem(list, (Py_ssize_t)i, text);
            continue;
        }
        PyErr_Clear();
        PyObject *bytes = PyBytes_FromStringAndSize(value, (Py_ssize_t)strlen(value));
        PyObject *result = PyObject_CallFunction(python_loader("refuse_bytes"), "OIO",
                                                 instance->slave, references[i], bytes);
        Py_DecRef(bytes);
        Py_DecRef(list);
        finish_call(instance, result, function);
        return NULL;
    }
    return list;
}

static Result set_strings(Instance *instance, const ValueReference references[], size_t count,
                          const char *const values[], const char *function) {
    const Variables *strings = &instance->strings;
    for (size_t n = 0; n < count; n++)
        if (!is_settable(instance, strings, references[n] - strings->first))
            return explain_refusal(instance, references[n], PyUnicode_FromString("(a text)"),
                                   function);
    PyObject *texts = text_list(instance, references, count, values, function);
    if (!texts) return RESULT_ERROR;
    PyObject *list = reference_list(references, count);
    PyObject *result = PyObject_CallMethod(instance->slave, "set_string", "OO", list, texts);
    Py_DecRef(list);
    Py_DecRef(texts);
    instance->is_stale = 1;
    return finish_call(instance, result, function);
}

Result core_set_strings(Instance *instance, const ValueReference references[], size_t count,
                        const char *const values[], const char *function) {
    if (!are_known(instance, &instance->strings, references, count, values, function))
        return RESULT_ERROR;
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    Result status = set_strings(instance, references, count, values, function);
    python_unlock(&hold);
    return status;
}

/* ---- getting ----------------------------------------------------------------------------- */

/* In initialization mode outputs follow what was set so far, as often as somebody looks. */
static Result compute_initial(Instance *instance, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *result = PyObject_CallMethod(instance->slave, "compute_initial", NULL);
    Result status = finish_call(instance, result, function);
    if (status == RESULT_OK) instance->is_stale = 0;
    python_unlock(&hold);
    return status;
}

/* Whether values may be got: the arguments fit, and outputs are what they should be. */
static int can_get(Instance *instance, const Variables *variables,
                   const ValueReference references[], size_t count, const void *values,
                   const char *function) {
    if (!are_known(instance, variables, references, count, values, function)) return 0;
    if (instance->phase != INITIALIZING || !instance->is_stale || !instance->computes_initially)
        return 1;
    return compute_initial(instance, function) == RESULT_OK;
}

Result core_get_reals(Instance *instance, const ValueReference references[], size_t count,
                      double values[], const char *function) {
    const Variables *reals = &instance->reals;
    if (!can_get(instance, reals, references, count, values, function)) return RESULT_ERROR;
    const double *source = reals->values;
    for (size_t n = 0; n < count; n++) values[n] = source[references[n] - reals->first];
    return RESULT_OK;
}

/* Integers and booleans are kept in the same way. */
static Result get_integers(Instance *instance, const Variables *variables,
                           const ValueReference references[], size_t count, int values[],
                           const char *function) {
    if (!can_get(instance, variables, references, count, values, function)) return RESULT_ERROR;
    const int *source = variables->values;
    for (size_t n = 0; n < count; n++) values[n] = source[references[n] - variables->first];
    return RESULT_OK;
}

Result core_get_integers(Instance *instance, const ValueReference references[], size_t count,
                         int values[], const char *function) {
    return get_integers(instance, &instance->integers, references, count, values, function);
}

Result core_get_booleans(Instance *instance, const ValueReference references[], size_t count,
                         int values[], const char *function) {
    return get_integers(instance, &instance->booleans, references, count, values, function);
}

/* Keeps a copy of a Python text, so that the host's pointer outlives the Python object. */
static int keep_text(Instance *instance, size_t i, PyObject *text) {
    PyObject *bytes = PyUnicode_AsUTF8String(text);
    const char *characters = bytes ? PyBytes_AsString(bytes) : NULL;
    char *copy = characters ? malloc(strlen(characters) + 1) : NULL;
    if (copy) strcpy(copy, characters);
    if (bytes) Py_DecRef(bytes);
    if (!copy) return 0;
    free(instance->texts[i]);
    instance->texts[i] = copy;
    return 1;
}

static Result get_strings(Instance *instance, const ValueReference references[], size_t count,
                          const char *values[], const char *function) {
    size_t first = instance->strings.first;
    PyObject *list = reference_list(references, count);
    PyObject *texts = PyObject_CallMethod(instance->slave, "get_string", "(O)", list);
    int complete = texts && PyList_Size(texts) == (Py_ssize_t)count;
    for (size_t n = 0; complete && n < count; n++)
        complete = keep_text(instance, references[n] - first,
                             PyList_GetItem(texts, (Py_ssize_t)n));
    /* Handed out when all are kept: one reference may occur twice. */
    for (size_t n = 0; complete && n < count; n++)
        values[n] = instance->texts[references[n] - first];
    if (texts && !complete) {
        Py_DecRef(texts);
        texts = NULL;
    }
    Py_DecRef(list);
    return finish_call(instance, texts, function);
}

Result core_get_strings(Instance *instance, const ValueReference references[], size_t count,
                        const char *values[], const char *function) {
    if (!can_get(instance, &instance->strings, references, count, values, function))
        return RESULT_ERROR;
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    Result status = get_strings(instance, references, count, values, function);
    python_unlock(&hold);
    return status;
}
