/* Finding a Python to run in, see python_finder.h.

   A library is opened only if its standard library lies where it should: starting a Python that
   cannot find its own modules ends the whole process, and no FMU may do that to its host. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "python_finder.h"

#include "carried.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <link.h>
#endif
#ifdef _WIN32
#include <psapi.h>
#endif

#define OLDEST_MINOR 10
#define NEWEST_MINOR 15

#ifdef _WIN32

void *python_symbol(void *library, const char *name) {
    return (void *)GetProcAddress((HMODULE)library, name);
}

static void *open_library(const char *path) {
    return LoadLibraryExA(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
}

static void *open_needed(const char *path) { return open_library(path); }
static const char *loading_error(void) { return ""; }

void *python_in_process(void) {
    HMODULE modules[1024];
    DWORD bytes = 0;
    if (!EnumProcessModules(GetCurrentProcess(), modules, sizeof modules, &bytes)) return NULL;
    if (bytes > sizeof modules) bytes = sizeof modules;
    for (DWORD i = 0; i < bytes / sizeof(HMODULE); i++) {
        int (*is_initialized)(void) =
            (int (*)(void))(void *)GetProcAddress(modules[i], "Py_IsInitialized");
        if (is_initialized && is_initialized()) return (void *)modules[i];
    }
    return NULL;
}

#else

void *python_symbol(void *library, const char *name) { return dlsym(library, name); }

/* Global, because Python's extension modules expect to find its symbols in the process. */
static void *open_library(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL); }

static void *open_needed(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

/* Why the last library could not be opened: a C library that is too old, for one. */
static const char *loading_error(void) {
    static char text[512];
    const char *error = dlerror();
    snprintf(text, sizeof text, error ? " (%s)" : "", error);
    return text;
}

#ifdef __linux__
/* A host may have loaded libpython privately: then only the list of libraries shows it. */
static int find_libpython(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, "/libpython3.", 12) != 0) return 0;
    snprintf(found, PATH_SIZE, "%s", info->dlpi_name);
    return 1;
}

static void *private_python(void) {
    char path[PATH_SIZE] = "";
    dl_iterate_phdr(find_libpython, path);
    return path[0] ? dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) : NULL;
}
#else
static void *private_python(void) { return NULL; }
#endif

static int is_running(void *library) {
    int (*is_initialized)(void);
    *(void **)&is_initialized = dlsym(library, "Py_IsInitialized");
    return is_initialized && is_initialized();
}

void *python_in_process(void) {
    void *library = dlopen(NULL, RTLD_NOW); /* the program and all that is loaded globally */
    if (library && is_running(library)) return library;
    library = private_python();
    return library && is_running(library) ? library : NULL;
}

#endif

static void append(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (used < size) vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static int file_exists(const char *path) {
    FILE *file = path[0] ? fopen(path, "rb") : NULL;
    if (file) fclose(file);
    return file != NULL;
}

static int is_supported(const PythonPlace *place) {
    int major = 0, minor = 0;
    return sscanf(place->version, "%d.%d", &major, &minor) == 2 && major == 3 &&
           minor >= OLDEST_MINOR;
}

static int has_standard_library(const PythonPlace *place) {
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s%cos.py", place->standard_library, PATH_SEPARATOR);
    return place->standard_library[0] && file_exists(path);
}

/* Reads lines `key=value` as locate_python.py prints them. Returns 1 if there were any. */
static int read_place(FILE *stream, PythonPlace *place) {
    char line[PATH_SIZE + 32];
    int read = 0;
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\r\n")] = 0;
        char *value = strchr(line, '=');
        if (!value) continue;
        *value++ = 0;
        read = 1;
        if (!strcmp(line, "executable"))
            snprintf(place->executable, sizeof place->executable, "%s", value);
        else if (!strcmp(line, "library"))
            snprintf(place->library, sizeof place->library, "%s", value);
        else if (!strcmp(line, "standard_library"))
            snprintf(place->standard_library, sizeof place->standard_library, "%s", value);
        else if (!strcmp(line, "version"))
            snprintf(place->version, sizeof place->version, "%s", value);
        else if (!strcmp(line, "home"))
            snprintf(place->home, sizeof place->home, "%s", value);
        else if (!strcmp(line, "folders"))
            snprintf(place->folders, sizeof place->folders, "%s", value);
        else if (!strcmp(line, "needed"))
            snprintf(place->needed, sizeof place->needed, "%s", value);
    }
    return read;
}

/* Quotes a path for the shell that popen starts. */
static void append_quoted(char *command, size_t size, const char *path) {
#ifdef _WIN32
    append(command, size, "\"%s\"", path);
#else
    append(command, size, "'");
    for (; *path; path++) append(command, size, *path == '\'' ? "'\\''" : "%c", *path);
    append(command, size, "'");
#endif
}

/* Asks an interpreter where its parts are. */
static int ask_interpreter(const char *executable, const char *resources, PythonPlace *place) {
    char script[PATH_SIZE + 32], command[3 * PATH_SIZE] = "";
    memset(place, 0, sizeof *place);
    snprintf(script, sizeof script, "%s%clocate_python.py", resources, PATH_SEPARATOR);
#ifdef _WIN32
    append(command, sizeof command, "\""); /* cmd.exe strips one pair around the whole line */
#endif
    append_quoted(command, sizeof command, executable);
    append(command, sizeof command, " -I "); /* isolated: a bad PYTHONHOME must not matter */
    append_quoted(command, sizeof command, script);
#ifdef _WIN32
    append(command, sizeof command, " 2>NUL\"");
#else
    append(command, sizeof command, " 2>/dev/null");
#endif
    FILE *pipe = open_pipe(command, "r");
    if (!pipe) return 0;
    int read = read_place(pipe, place);
    close_pipe(pipe);
    return read && place->executable[0] && place->version[0];
}

/* Opens the library of a place, or adds to `error` what is missing there. */
static void *open_place(const PythonPlace *place, const char *origin, char *error, size_t size) {
    if (!is_supported(place)) {
        append(error, size, "; %s: '%s' is Python %s", origin, place->executable, place->version);
        return NULL;
    }
    if (!place->library[0]) {
        append(error, size,
               "; %s: '%s' has no shared library (it was built without one, or the package with"
               " it, such as libpython3.x on Debian, is not installed)",
               origin, place->executable);
        return NULL;
    }
    if (!has_standard_library(place)) {
        append(error, size, "; %s: no standard library in '%s'", origin, place->standard_library);
        return NULL;
    }
    void *library = open_library(place->library);
    if (!library) append(error, size, "; %s: cannot open '%s'", origin, place->library);
    return library;
}

static void *open_requested(const char *executable, const char *resources, PythonPlace *place,
                            char *error, size_t size) {
    if (ask_interpreter(executable, resources, place))
        return open_place(place, "environment variable FMU_PYTHON", error, size);
    append(error, size, "; environment variable FMU_PYTHON: '%s' is no Python interpreter",
           executable);
    return NULL;
}

/* What the build wrote down. */
static int read_recorded(const char *resources, PythonPlace *place) {
    char path[PATH_SIZE + 32];
    memset(place, 0, sizeof *place);
    snprintf(path, sizeof path, "%s%cpython.txt", resources, PATH_SEPARATOR);
    FILE *file = fopen(path, "r");
    int recorded = file && read_place(file, place);
    if (file) fclose(file);
    return recorded;
}

/* Puts a path before another one. */
static void prepend(const char *folder, char *path, size_t size) {
    char inner[PATH_SIZE];
    snprintf(inner, sizeof inner, "%s", path);
    path[0] = 0;
    append(path, size, "%s%c%s", folder, PATH_SEPARATOR, inner);
}

/* The interpreter that the FMU carries. What its library and its modules need of others than the
   C library is opened first: the loader takes a library that is open for one that is looked for
   by its name. */
static void *open_carried(PythonPlace *place, char *error, size_t size) {
    for (char *name = strtok(place->needed, ":"); name; name = strtok(NULL, ":")) {
        char path[2 * PATH_SIZE];
        snprintf(path, sizeof path, "%s%c%s", place->home, PATH_SEPARATOR, name);
        if (!open_needed(path)) append(error, size, "; cannot open '%s'", path);
    }
    void *library = open_library(place->library);
    if (!library) append(error, size, "; cannot open '%s'%s", place->library, loading_error());
    return library;
}

int python_recorded(const char *resources, PythonPlace *place, char *error, size_t error_size) {
    if (!read_recorded(resources, place) || !place->home[0]) return 1;
    prepend(resources, place->home, sizeof place->home);
    prepend(resources, place->library, sizeof place->library);
    prepend(resources, place->executable, sizeof place->executable);
    char problem[3 * PATH_SIZE] = "";
    if (is_carried_whole(place->home, problem, sizeof problem)) return 1;
    snprintf(error, error_size,
             "The interpreter that this FMU carries does not start here; %s.", problem);
    return 0;
}

static void *open_recorded(const char *resources, PythonPlace *place, char *error, size_t size) {
    if (!read_recorded(resources, place)) {
        append(error, size, "; the FMU records no interpreter");
        return NULL;
    }
    if (!file_exists(place->executable)) {
        append(error, size, "; recorded interpreter '%s' is not on this machine",
               place->executable);
        return NULL;
    }
    return open_place(place, "recorded interpreter", error, size);
}

/* Interpreters on the search path, asked for their library like any other. */
static void *open_usual(const char *resources, PythonPlace *place, char *error, size_t size) {
    static const char *const names[] = {"python3", "python"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!ask_interpreter(names[i], resources, place)) continue;
        void *library = open_place(place, names[i], error, size);
        if (library) return library;
    }
    for (int minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--) {
        char name[32];
        snprintf(name, sizeof name, "python3.%d", minor);
        if (!ask_interpreter(name, resources, place)) continue;
        void *library = open_place(place, name, error, size);
        if (library) return library;
    }
    append(error, size, "; no usual Python (3.%d to 3.%d) on the search path", OLDEST_MINOR,
           NEWEST_MINOR);
    return NULL;
}

/* The packages that the FMU needs, as one line: its files may be gone when the message is read. */
static void append_requirements(const char *resources, char *text, size_t size) {
    char path[PATH_SIZE + 32], line[256];
    snprintf(path, sizeof path, "%s%crequirements.txt", resources, PATH_SEPARATOR);
    FILE *file = fopen(path, "r");
    const char *separator = "";
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[0]) append(text, size, "%s%s", separator, line);
        separator = ", ";
    }
    if (file) fclose(file);
}

void *python_open(const char *resources, PythonPlace *place, char *error, size_t error_size) {
    char tried[8 * PATH_SIZE] = "";
    void *library = NULL;
    if (place->home[0]) {
        library = open_carried(place, tried, sizeof tried);
        if (!library)
            snprintf(error, error_size,
                     "The interpreter that this FMU carries does not start here%s. The machine"
                     " needs a C library as new as that of the machine that built the FMU.",
                     tried);
        return library;
    }
    const char *requested = getenv("FMU_PYTHON");
    if (requested && requested[0]) {
        library = open_requested(requested, resources, place, tried, sizeof tried);
    } else {
        library = open_recorded(resources, place, tried, sizeof tried);
        if (!library) library = open_usual(resources, place, tried, sizeof tried);
    }
    if (library) return library;
    char needed[PATH_SIZE] = "";
    append_requirements(resources, needed, sizeof needed);
    snprintf(error, error_size,
             "This FMU runs on Python and found none that it can use%s. Set the environment"
             " variable FMU_PYTHON to an interpreter with a shared library (3.%d or newer) that"
             " has these packages: %s.",
             tried, OLDEST_MINOR, needed);
    return NULL;
}
