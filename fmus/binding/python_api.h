/* The part of Python's C interface that the binding uses, looked up at run time.

   The binding links to no Python: it must open in hosts that have none, and with whichever
   version is found. All functions here are part of Python's interface from 3.10 on, and all but
   PyThreadState_DeleteCurrent of its stable one. Objects are opaque. */
#ifndef SENSOR_FMUS_PYTHON_API_H
#define SENSOR_FMUS_PYTHON_API_H

#include <signal.h>
#include <stddef.h>

typedef struct PyObject PyObject;
typedef ptrdiff_t Py_ssize_t;

#define PYTHON_FUNCTIONS(F)                                                                  \
    F(int, Py_IsInitialized, (void))                                                         \
    F(void, Py_DecRef, (PyObject *))                                                         \
    F(PyObject *, Py_CompileString, (const char *, const char *, int))                       \
    F(void *, PyEval_SaveThread, (void))                                                     \
    F(void, PyEval_RestoreThread, (void *))                                                  \
    F(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *))                     \
    F(PyObject *, PyEval_GetBuiltins, (void))                                                \
    F(PyObject *, PyImport_ImportModule, (const char *))                                     \
    F(int, PyGILState_Ensure, (void))                                                        \
    F(void, PyGILState_Release, (int))                                                       \
    F(void *, PyGILState_GetThisThreadState, (void))                                         \
    F(void, PyThreadState_Clear, (void *))                                                   \
    F(void, PyThreadState_DeleteCurrent, (void))                                             \
    F(PyObject *, PySys_GetObject, (const char *))                                           \
    F(int, PySys_SetObject, (const char *, PyObject *))                                      \
    F(PyObject *, PyDict_New, (void))                                                        \
    F(PyObject *, PyDict_GetItemString, (PyObject *, const char *))                          \
    F(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *))                     \
    F(PyObject *, PyList_New, (Py_ssize_t))                                                  \
    F(PyObject *, PyList_GetItem, (PyObject *, Py_ssize_t))                                  \
    F(int, PyList_SetItem, (PyObject *, Py_ssize_t, PyObject *))                             \
    F(int, PyList_SetSlice, (PyObject *, Py_ssize_t, Py_ssize_t, PyObject *))                \
    F(Py_ssize_t, PyList_Size, (PyObject *))                                                 \
    F(PyObject *, PyTuple_GetItem, (PyObject *, Py_ssize_t))                                 \
    F(Py_ssize_t, PyTuple_Size, (PyObject *))                                                \
    F(PyObject *, PyLong_FromLong, (long))                                                   \
    F(PyObject *, PyLong_FromSize_t, (size_t))                                               \
    F(long, PyLong_AsLong, (PyObject *))                                                     \
    F(void *, PyLong_AsVoidPtr, (PyObject *))                                                \
    F(PyObject *, PyFloat_FromDouble, (double))                                              \
    F(double, PyFloat_AsDouble, (PyObject *))                                                \
    F(PyObject *, PyUnicode_FromString, (const char *))                                      \
    F(PyObject *, PyUnicode_AsUTF8String, (PyObject *))                                      \
    F(PyObject *, PyBytes_FromStringAndSize, (const char *, Py_ssize_t))                     \
    F(char *, PyBytes_AsString, (PyObject *))                                                \
    F(Py_ssize_t, PyBytes_Size, (PyObject *))                                                \
    F(PyObject *, PyObject_CallFunction, (PyObject *, const char *, ...))                    \
    F(PyObject *, PyObject_CallMethod, (PyObject *, const char *, const char *, ...))        \
    F(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))                        \
    F(int, PyObject_HasAttrString, (PyObject *, const char *))                               \
    F(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))                            \
    F(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **))               \
    F(int, PyErr_GivenExceptionMatches, (PyObject *, PyObject *))                            \
    F(void, PyErr_SetInterrupt, (void))                                                      \
    F(PyObject *, PyErr_Occurred, (void))                                                    \
    F(void, PyErr_Clear, (void))

#define DECLARE_FUNCTION(result, name, arguments) extern result(*name) arguments;
PYTHON_FUNCTIONS(DECLARE_FUNCTION)
#undef DECLARE_FUNCTION

/* Makes Python available to the calling process: the one that is there, or a new one.
   `resources` is the FMU's resources directory. Returns 0 and fills `error` if there is none.
   Safe to call again and from several threads. */
int python_start(const char *resources, char *error, size_t error_size);

/* The functions of the FMU's loader module, by name (borrowed). Needs the lock. */
PyObject *python_loader(const char *function);

/* Python's global lock, around every use of the functions above. A thread may take it again while
   it has it. What a file that grows too large or a reader that is gone would kill the process with
   (SIGXFSZ, SIGPIPE) is kept from this thread meanwhile, as a Python of its own would keep it. */
typedef struct {
    int token;
#ifndef _WIN32
    int is_shielded;
    sigset_t signals;
#endif
} PythonHold;
void python_lock(PythonHold *hold);
void python_unlock(PythonHold *hold);

#endif
