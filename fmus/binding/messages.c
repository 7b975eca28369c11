/* Messages to the host, see instance.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define MESSAGE_SIZE 8192

/* The log categories of modelDescription.xml, in the order of their bits. */
static const char *const category_names[] = {"logStatusWarning", "logStatusDiscard",
                                             "logStatusError",   "logStatusFatal",
                                             "logAll",           "logDebug"};
#define CATEGORY_COUNT (sizeof category_names / sizeof *category_names)
#define ALL_BIT (1u << 4)

static unsigned category_bit(const char *name) {
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        if (!strcmp(name, category_names[i])) return 1u << i;
    return 0;
}

Result choose_categories(Instance *instance, size_t count, const char *const names[],
                         const char *function) {
    unsigned chosen = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned bit = names && names[i] ? category_bit(names[i]) : 0;
        if (!bit)
            return report_error(instance, "%s: '%s' is no log category of this FMU.", function,
                                names && names[i] ? names[i] : "NULL");
        chosen |= bit;
    }
    instance->categories = chosen;
    return RESULT_OK;
}

static int is_wanted(const Instance *instance, Result status, const char *category) {
    if (status != RESULT_OK) return 1;
    if (!instance->logging_on) return 0;
    if (!instance->categories || instance->categories & ALL_BIT) return 1;
    return (instance->categories & category_bit(category)) != 0;
}

void send_message(Instance *instance, Result status, const char *category,
                  const char *message) {
    if (is_wanted(instance, status, category))
        instance->send(instance->callbacks, instance->name, status, category, message);
}

Result report_error(Instance *instance, const char *format, ...) {
    char message[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    send_message(instance, RESULT_ERROR, "logStatusError", message);
    return RESULT_ERROR;
}

static void release(PyObject *object) {
    if (object) Py_DecRef(object);
}

/* The text of a Python string, valid as long as *keeper is held. */
static const char *text_of(PyObject *string, PyObject **keeper) {
    *keeper = string ? PyUnicode_AsUTF8String(string) : NULL;
    if (*keeper) return PyBytes_AsString(*keeper);
    PyErr_Clear();
    return "(unreadable text)";
}

static void send_exception(Instance *instance, const char *function, PyObject *exception) {
    /* (message, traceback) */
    PyObject *texts = PyObject_CallFunction(python_loader("describe_exception"), "O", exception);
    PyObject *message_bytes = NULL, *traceback_bytes = NULL;
    if (texts && PyTuple_Size(texts) == 2) {
        report_error(instance, "%s: %s", function,
                     text_of(PyTuple_GetItem(texts, 0), &message_bytes));
        send_message(instance, RESULT_OK, "logDebug",
                     text_of(PyTuple_GetItem(texts, 1), &traceback_bytes));
    } else {
        PyErr_Clear();
        report_error(instance, "%s: failed, and the reason could not be described", function);
    }
    release(message_bytes);
    release(traceback_bytes);
    release(texts);
}

Result report_exception(Instance *instance, const char *function) {
    PyObject *type = NULL, *exception = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (!exception) return report_error(instance, "%s: failed without a reason", function);
    PyObject *keyboard_interrupt =
        PyDict_GetItemString(PyEval_GetBuiltins(), "KeyboardInterrupt");
    int interrupted = PyErr_GivenExceptionMatches(type, keyboard_interrupt);
    if (traceback) {
        PyObject *same = PyObject_CallMethod(exception, "with_traceback", "O", traceback);
        if (!same) PyErr_Clear();
        release(same);
    }
    send_exception(instance, function, exception);
    release(type);
    release(exception);
    release(traceback);
    if (interrupted) {
        /* The user stopped the host, not the FMU. The host must still see it, and so it comes
           last: any Python code that runs before it returns would take it. */
        send_waiting_messages(instance);
        PyErr_SetInterrupt();
    }
    return RESULT_ERROR;
}

static void send_one(Instance *instance, PyObject *entry) {
    PyObject *status = PyObject_GetAttrString(entry, "status"), *category_bytes, *message_bytes;
    PyObject *category = PyObject_GetAttrString(entry, "category");
    PyObject *message = PyObject_GetAttrString(entry, "msg");
    const char *category_text = text_of(category, &category_bytes);
    const char *message_text = text_of(message, &message_bytes);
    long level = status ? PyLong_AsLong(status) : RESULT_OK;
    PyErr_Clear();
    send_message(instance, (Result)level, category_text, message_text);
    release(category_bytes);
    release(message_bytes);
    release(status);
    release(category);
    release(message);
}

void send_waiting_messages(Instance *instance) {
    Py_ssize_t count = instance->messages ? PyList_Size(instance->messages) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        send_one(instance, PyList_GetItem(instance->messages, i));
    if (count > 0) PyList_SetSlice(instance->messages, 0, count, NULL);
}
