/* Starting Python and holding its lock, see python_api.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "python_api.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "python_finder.h"

#define DEFINE_FUNCTION(result, name, arguments) result(*name) arguments;
PYTHON_FUNCTIONS(DEFINE_FUNCTION)
#undef DEFINE_FUNCTION

#define FILE_INPUT 257 /* Py_file_input: compile a whole module */

/* Set in `sys` by the binding that started Python, read by the bindings of other FMUs. */
#define EMBEDDED_MARK "_sensor_fmus_embedded"
#define LOADERS "_sensor_fmus_loaders"

static Lock start_lock = LOCK_INIT;
static int started;
static int keep_thread_states;
static PyObject *loader_functions;

static int look_up_functions(void *library, char *error, size_t error_size) {
#define LOOK_UP(result, name, arguments)                                                     \
    if (!(*(void **)&name = python_symbol(library, #name))) {                                \
        snprintf(error, error_size, "This Python has no function " #name ".");               \
        return 0;                                                                            \
    }
    PYTHON_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return 1;
}

static void set_flag(void *library, const char *name) {
    int *flag = (int *)python_symbol(library, name);
    if (flag) *flag = 1;
}

/* Python takes over SIGINT at the first import of its module `_signal`, even if it was started
   without signal handlers. So that is imported here, and the host gets its handler back. */
#ifdef _WIN32
static void initialise_without_signals(void) {
    void (*handler)(int) = signal(SIGINT, SIG_IGN);
    Py_InitializeEx(0);
    PyObject *module = PyImport_ImportModule("_signal");
    if (module) Py_DecRef(module);
    PyErr_Clear();
    signal(SIGINT, handler);
}
#else
static void initialise_without_signals(void) {
    struct sigaction handler;
    sigaction(SIGINT, NULL, &handler);
    Py_InitializeEx(0);
    PyObject *module = PyImport_ImportModule("_signal");
    if (module) Py_DecRef(module);
    PyErr_Clear();
    sigaction(SIGINT, &handler, NULL);
}
#endif

/* Starts an interpreter that leaves its host alone: no signal handlers, no environment variables
   (a bad PYTHONHOME would end the process), no dependence on the host's locale. */
static int initialise(void *library, const char *executable, char *error, size_t error_size) {
    void (*set_program_name)(const wchar_t *);
    *(void **)&set_program_name = python_symbol(library, "Py_SetProgramName");
    if (!set_program_name) {
        snprintf(error, error_size, "Python '%s' is too new for this FMU; set FMU_PYTHON.",
                 executable);
        return 0;
    }
    char *current = setlocale(LC_CTYPE, NULL), locale[256] = "C";
    if (current) snprintf(locale, sizeof locale, "%s", current);
    set_flag(library, "Py_IgnoreEnvironmentFlag");
    set_flag(library, "Py_UTF8Mode");
    static wchar_t *program_name; /* Python keeps the pointer */
    program_name = Py_DecodeLocale(executable, NULL);
    set_program_name(program_name);
    initialise_without_signals();
    setlocale(LC_CTYPE, locale);
    PySys_SetObject(EMBEDDED_MARK, PyDict_New());
    PyEval_SaveThread();
    return 1;
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (text) text[fread(text, 1, (size_t)size, file)] = 0;
    fclose(file);
    return text;
}

/* The dictionary of all loaders in this process, by their source: an FMU that is unpacked and
   opened again and again shares one. */
static PyObject *known_loaders(void) {
    PyObject *loaders = PySys_GetObject(LOADERS);
    if (loaders) return loaders;
    loaders = PyDict_New();
    PySys_SetObject(LOADERS, loaders);
    return loaders;
}

static PyObject *run_module(const char *source, const char *path) {
    PyObject *functions = PyDict_New();
    PyDict_SetItemString(functions, "__builtins__", PyEval_GetBuiltins());
    PyObject *code = Py_CompileString(source, path, FILE_INPUT);
    PyObject *result = code ? PyEval_EvalCode(code, functions, functions) : NULL;
    if (code) Py_DecRef(code);
    if (result) {
        Py_DecRef(result);
        return functions;
    }
    PyErr_Clear();
    Py_DecRef(functions);
    return NULL;
}

/* Runs the loader module that the FMU carries; its functions do what is easier in Python. */
static int run_loader(const char *resources, char *error, size_t error_size) {
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s%cfmu_loader.py", resources, PATH_SEPARATOR);
    char *source = read_file(path);
    if (!source) {
        snprintf(error, error_size, "Cannot read '%s': the FMU is not unpacked there.", path);
        return 0;
    }
    PyObject *loaders = known_loaders();
    loader_functions = PyDict_GetItemString(loaders, source);
    if (!loader_functions && (loader_functions = run_module(source, path)) != NULL)
        PyDict_SetItemString(loaders, source, loader_functions);
    free(source);
    if (loader_functions) return 1;
    snprintf(error, error_size, "Cannot run '%s': the file is damaged.", path);
    return 0;
}

/* Whether Python was started by an FMU of ours: then threads keep their Python state. */
static int was_embedded(void) { return PySys_GetObject(EMBEDDED_MARK) != NULL; }

#ifdef _WIN32
/* Nothing is released at a thread's end: that code would run under the system's loader lock and
   could wait for Python's lock for ever. */
static void watch_thread_end(void *state) { (void)state; }
static void prepare_thread_end(void) {}
#else
static pthread_key_t thread_end;

/* PyGILState_Release would do this, but by now the C library may have cleared the thread-local
   variable in which Python keeps the state. */
static void release_thread_state(void *state) {
    PyEval_RestoreThread(state);
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
}

static void watch_thread_end(void *state) { pthread_setspecific(thread_end, state); }

static void prepare_thread_end(void) {
    pthread_key_create(&thread_end, release_thread_state);
    /* The function above must exist as long as any thread: never unload this library. */
    Dl_info self;
    if (dladdr((void *)&started, &self)) dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
}
#endif

static int start(const char *resources, char *error, size_t error_size) {
    PythonPlace place = {"", "", "", ""};
    void *library = python_in_process();
    int running = library != NULL;
    if (!running) library = python_open(resources, &place, error, error_size);
    if (!library || !look_up_functions(library, error, error_size)) return 0;
    if (!running && !initialise(library, place.executable, error, error_size)) return 0;
    int token = PyGILState_Ensure();
    int loaded = run_loader(resources, error, error_size);
    keep_thread_states = was_embedded();
    PyGILState_Release(token);
    if (loaded && keep_thread_states) prepare_thread_end();
    return loaded;
}

int python_start(const char *resources, char *error, size_t error_size) {
    lock_acquire(&start_lock);
    if (!started) started = start(resources, error, error_size);
    int result = started;
    lock_release(&start_lock);
    return result;
}

PyObject *python_loader(const char *function) {
    return PyDict_GetItemString(loader_functions, function);
}

/* A thread that Python does not know gets a state at each call and loses it at its end, which
   costs more than the call. In a host without Python the state is made once a thread. */
static void keep_thread_state(void) {
    static THREAD_LOCAL int known;
    if (known) return;
    known = 1;
    if (PyGILState_GetThisThreadState()) return;
    PyGILState_Ensure();
    watch_thread_end(PyEval_SaveThread());
}

int python_lock(void) {
    if (keep_thread_states) keep_thread_state();
    return PyGILState_Ensure();
}

void python_unlock(int token) { PyGILState_Release(token); }
