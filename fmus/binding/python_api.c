/* Starting Python and holding its lock, see python_api.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "python_api.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "process.h"
#include "python_config.h"
#include "python_finder.h"

#define DEFINE_FUNCTION(result, name, arguments) result(*name) arguments;
PYTHON_FUNCTIONS(DEFINE_FUNCTION)
#undef DEFINE_FUNCTION

#define FILE_INPUT 257 /* Py_file_input: compile a whole module */

/* Set in `sys` by the binding that started Python, read by the bindings of other FMUs. */
#define EMBEDDED_MARK "_sensor_fmus_embedded"
#define LOADERS "_sensor_fmus_loaders"

static int started; /* set under the process's lock, and never taken back */
static int is_prepared, keep_thread_states; /* set under Python's lock */
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

/* Python takes over SIGINT at the first import of its module `_signal`, even if it was started
   without signal handlers. So that is imported here, and the host gets its handler back. */
static int initialise_without_signals(void *library, const PythonPlace *place, char *error,
                                      size_t error_size) {
#ifdef _WIN32
    void (*handler)(int) = signal(SIGINT, SIG_IGN);
#else
    struct sigaction handler;
    sigaction(SIGINT, NULL, &handler);
#endif
    int started = python_initialize(library, place, error, error_size);
    PyObject *module = started ? PyImport_ImportModule("_signal") : NULL;
    if (module) Py_DecRef(module);
    if (started) PyErr_Clear();
#ifdef _WIN32
    signal(SIGINT, handler);
#else
    sigaction(SIGINT, &handler, NULL);
#endif
    return started;
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
        snprintf(error, error_size, "Cannot read '%s': %s.", path, strerror(errno));
        return 0;
    }
    PyObject *loaders = known_loaders();
    PyObject *functions = PyDict_GetItemString(loaders, source);
    PyObject *made = functions ? NULL : run_module(source, path);
    /* Meanwhile another thread may have done the same. */
    if (made && !(functions = PyDict_GetItemString(loaders, source))) {
        PyDict_SetItemString(loaders, source, made);
        functions = made;
    }
    if (made) Py_DecRef(made);
    free(source);
    loader_functions = functions;
    if (functions) return 1;
    snprintf(error, error_size,
             "Cannot run '%s': the file is damaged, or the Python of this process lacks a part of"
             " its standard library.",
             path);
    return 0;
}

/* Puts the pending exception into `error`. */
static void describe_error(char *error, size_t error_size) {
    PyObject *type = NULL, *exception = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    PyObject *text = exception ? PyObject_CallMethod(exception, "__str__", NULL) : NULL;
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    snprintf(error, error_size, "The interpreter that this FMU carries does not start here; %s.",
             bytes ? PyBytes_AsString(bytes) : "the reason could not be described");
    PyObject *objects[] = {type, exception, traceback, text, bytes};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (objects[i]) Py_DecRef(objects[i]);
    PyErr_Clear();
}

/* An interpreter that the FMU carries is prepared by this FMU before any other one sees it: others
   may come to life at the same moment, and whose it is decides what they may do. */
static int begin_carried(const char *resources, char *error, size_t error_size) {
    if (!run_loader(resources, error, error_size)) return 0;
    PyObject *done = PyObject_CallFunction(python_loader("begin_carried"), "s", resources);
    if (!done) describe_error(error, error_size);
    if (done) Py_DecRef(done);
    return done != NULL;
}

/* Starts an interpreter for this FMU; in the end nobody has Python's lock. */
static int initialise(void *library, const PythonPlace *place, const char *resources, char *error,
                      size_t error_size) {
    int ready = initialise_without_signals(library, place, error, error_size);
    if (ready) {
        PySys_SetObject(EMBEDDED_MARK, PyDict_New());
        ready = !place->home[0] || begin_carried(resources, error, error_size);
        PyEval_SaveThread();
    }
    if (!ready) process_spoil();
    return ready;
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

/* Whether this thread has Python's lock. */
static int holds_lock(void *library) {
    void *(*current)(void), *(*own)(void);
    *(void **)&current = python_symbol(library, "_PyThreadState_UncheckedGet");
    if (!current) *(void **)&current = python_symbol(library, "PyThreadState_GetUnchecked");
    *(void **)&own = python_symbol(library, "PyGILState_GetThisThreadState");
    /* Up to Python 3.11 the current state is that of any thread. */
    return current && own && current() && current() == own();
}

/* Before the functions are looked up, and also if that failed. */
static void restore_thread(void *library, void *state) {
    void (*restore)(void *);
    *(void **)&restore = python_symbol(library, "PyEval_RestoreThread");
    restore(state);
}

#ifdef _WIN32
static void watch_forks(void) {}
#else
/* A child of fork has the thread that called it and no other. If a writer of files had Python's
   lock, the child would wait for it for ever: so fork waits until this thread has it. Python does
   the same for forks of its own, and then has the lock already. */
static THREAD_LOCAL PythonHold fork_hold;
static THREAD_LOCAL int fork_is_held;
static void (*before_fork)(void), (*after_fork_in_parent)(void), (*after_fork_in_child)(void);

static void prepare_fork(void) {
    fork_is_held = Py_IsInitialized() && !holds_lock(python_in_process());
    if (!fork_is_held) return;
    python_lock(&fork_hold);
    before_fork();
}

static void end_fork(void (*after)(void)) {
    if (!fork_is_held) return;
    after();
    python_unlock(&fork_hold);
}

static void go_on_in_parent(void) { end_fork(after_fork_in_parent); }

static void go_on_in_child(void) {
    process_renew_lock();
    end_fork(after_fork_in_child);
}

/* The library may be unloaded, and a child must not call what is gone then. The `pthread_atfork`
   that is linked here belongs to libpthread, which takes a handler for one of its own and keeps it;
   what it calls in glibc takes an owner, whose handlers `__cxa_finalize` removes. */
#ifdef __GLIBC__
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
extern void __cxa_finalize(void *);
static char owner_of_handlers;

static void renew_lock_after_fork(void) {
    __register_atfork(NULL, NULL, handles_renew_lock, &owner_of_handlers);
}

__attribute__((destructor)) static void forget_forks(void) { __cxa_finalize(&owner_of_handlers); }
#else
static void renew_lock_after_fork(void) { pthread_atfork(NULL, NULL, handles_renew_lock); }
#endif

/* Once for each library; a Python of the host's own is the host's affair. */
static void watch_forks(void) {
    renew_lock_after_fork();
    if (!keep_thread_states) return;
    process_lock();
    int first = is_first_in_process();
    process_unlock();
    if (!first) return;
    void *library = python_in_process();
    *(void **)&before_fork = python_symbol(library, "PyOS_BeforeFork");
    *(void **)&after_fork_in_parent = python_symbol(library, "PyOS_AfterFork_Parent");
    *(void **)&after_fork_in_child = python_symbol(library, "PyOS_AfterFork_Child");
    if (before_fork && after_fork_in_parent && after_fork_in_child)
        pthread_atfork(prepare_fork, go_on_in_parent, go_on_in_child);
}
#endif

/* Finds a Python, or starts one. Needs the process's lock. */
static int start(const char *resources, char *error, size_t error_size) {
    PythonPlace *place = calloc(1, sizeof *place);
    void *library = python_in_process();
    int running = library != NULL;
    int ready = 0;
    if (process_is_spoilt())
        snprintf(error, error_size,
                 "A Python did not come to life in this process before. Start the host anew.");
    else if (place)
        ready = python_recorded(resources, place, error, error_size);
    if (ready && !running) library = python_open(resources, place, error, error_size);
    ready = ready && library && look_up_functions(library, error, error_size) &&
            (running || initialise(library, place, resources, error, error_size));
    free(place);
    return ready;
}

/* Locks are taken in this order, and only so: the process's, then Python's. */
static int find_python(const char *resources, char *error, size_t error_size) {
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return 1;
    void *library = python_in_process(), *(*save)(void) = NULL, *held = NULL;
    if (library) *(void **)&save = python_symbol(library, "PyEval_SaveThread");
    if (save && holds_lock(library)) held = save();
    process_lock();
    if (!started)
        __atomic_store_n(&started, start(resources, error, error_size), __ATOMIC_RELEASE);
    int result = started;
    process_unlock();
    if (held) restore_thread(library, held);
    return result;
}

/* The first use of this library: its loader, and what the kind of Python asks for. */
static int begin(const char *resources, char *error, size_t error_size) {
    PythonHold hold;
    python_lock(&hold);
    int loaded = loader_functions || run_loader(resources, error, error_size);
    int first = loaded && !is_prepared;
    if (first) {
        is_prepared = 1;
        keep_thread_states = was_embedded();
        if (keep_thread_states) prepare_thread_end();
    }
    python_unlock(&hold);
    if (first) watch_forks();
    return loaded;
}

int python_start(const char *resources, char *error, size_t error_size) {
    return find_python(resources, error, error_size) && begin(resources, error, error_size);
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

#ifdef _WIN32
static void raise_shield(PythonHold *hold) { (void)hold; }
static void lower_shield(PythonHold *hold) { (void)hold; }
#else
static void deadly_signals(sigset_t *signals) {
    sigemptyset(signals);
    sigaddset(signals, SIGXFSZ);
    sigaddset(signals, SIGPIPE);
}

/* Blocks the signals in this thread; threads that are made meanwhile inherit it. A write then
   fails with an error, which is reported as any other. */
static void raise_shield(PythonHold *hold) {
    sigset_t signals;
    deadly_signals(&signals);
    hold->is_shielded = keep_thread_states && !pthread_sigmask(SIG_BLOCK, &signals, &hold->signals);
}

static void discard_signals(const sigset_t *signals) {
    sigset_t pending;
    int number;
    while (sigpending(&pending) == 0 &&
           ((sigismember(signals, SIGXFSZ) && sigismember(&pending, SIGXFSZ)) ||
            (sigismember(signals, SIGPIPE) && sigismember(&pending, SIGPIPE))))
        sigwait(signals, &number);
}

/* Forgets those that have come, but for what the host has blocked itself. */
static void lower_shield(PythonHold *hold) {
    if (!hold->is_shielded) return;
    sigset_t signals;
    deadly_signals(&signals);
    if (sigismember(&hold->signals, SIGXFSZ)) sigdelset(&signals, SIGXFSZ);
    if (sigismember(&hold->signals, SIGPIPE)) sigdelset(&signals, SIGPIPE);
    discard_signals(&signals);
    pthread_sigmask(SIG_SETMASK, &hold->signals, NULL);
}
#endif

void python_lock(PythonHold *hold) {
    raise_shield(hold);
    if (keep_thread_states) keep_thread_state();
    hold->token = PyGILState_Ensure();
}

void python_unlock(PythonHold *hold) {
    PyGILState_Release(hold->token);
    lower_shield(hold);
}
