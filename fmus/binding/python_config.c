/* Starting a Python, see python_config.h.

   Py_InitializeEx ends the process if the interpreter does not come to life: its standard library
   is damaged, or no more files may be opened. Only what takes a configuration gives a status back.

   Up to Python 3.13 that is the struct PyConfig, whose fields differ from version to version. The
   binding has no headers of any Python, so the fields are listed here with the versions that have
   them, and their places follow from the rules of C. Within a version the struct is fixed, as all
   of Python's binary interface is. From 3.14 on there are functions that take names (PEP 741). */
#include "python_config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WITH_NAMES 14 /* Python 3.14 */
#define NEWER 99

typedef enum { NUMBER, SEED, TEXT, TEXTS } Kind;

typedef struct {
    const char *name;
    Kind kind;
    int first, last; /* minor versions */
} Field;

/* PyConfig up to the last field that is set here, from Include/cpython/initconfig.h. */
static const Field fields[] = {
    {"_config_init", NUMBER, 0, NEWER},
    {"isolated", NUMBER, 0, NEWER},
    {"use_environment", NUMBER, 0, NEWER},
    {"dev_mode", NUMBER, 0, NEWER},
    {"install_signal_handlers", NUMBER, 0, NEWER},
    {"use_hash_seed", NUMBER, 0, NEWER},
    {"hash_seed", SEED, 0, NEWER},
    {"faulthandler", NUMBER, 0, NEWER},
    {"tracemalloc", NUMBER, 0, NEWER},
    {"perf_profiling", NUMBER, 12, NEWER},
    {"import_time", NUMBER, 0, NEWER},
    {"code_debug_ranges", NUMBER, 11, NEWER},
    {"show_ref_count", NUMBER, 0, NEWER},
    {"dump_refs", NUMBER, 0, NEWER},
    {"dump_refs_file", TEXT, 11, NEWER},
    {"malloc_stats", NUMBER, 0, NEWER},
    {"filesystem_encoding", TEXT, 0, NEWER},
    {"filesystem_errors", TEXT, 0, NEWER},
    {"pycache_prefix", TEXT, 0, NEWER},
    {"parse_argv", NUMBER, 0, NEWER},
    {"orig_argv", TEXTS, 0, NEWER},
    {"argv", TEXTS, 0, NEWER},
    {"xoptions", TEXTS, 0, NEWER},
    {"warnoptions", TEXTS, 0, NEWER},
    {"site_import", NUMBER, 0, NEWER},
    {"bytes_warning", NUMBER, 0, NEWER},
    {"warn_default_encoding", NUMBER, 0, NEWER},
    {"inspect", NUMBER, 0, NEWER},
    {"interactive", NUMBER, 0, NEWER},
    {"optimization_level", NUMBER, 0, NEWER},
    {"parser_debug", NUMBER, 0, NEWER},
    {"write_bytecode", NUMBER, 0, NEWER},
    {"verbose", NUMBER, 0, NEWER},
    {"quiet", NUMBER, 0, NEWER},
    {"user_site_directory", NUMBER, 0, NEWER},
    {"configure_c_stdio", NUMBER, 0, NEWER},
    {"buffered_stdio", NUMBER, 0, NEWER},
    {"stdio_encoding", TEXT, 0, NEWER},
    {"stdio_errors", TEXT, 0, NEWER},
#ifdef _WIN32
    {"legacy_windows_stdio", NUMBER, 0, NEWER},
#endif
    {"check_hash_pycs_mode", TEXT, 0, NEWER},
    {"use_frozen_modules", NUMBER, 11, NEWER},
    {"safe_path", NUMBER, 11, NEWER},
    {"int_max_str_digits", NUMBER, 12, NEWER},
    {"cpu_count", NUMBER, 13, NEWER},
    {"enable_gil", NUMBER, 13, NEWER}, /* only without a global lock, see `has_field` */
    {"pathconfig_warnings", NUMBER, 0, NEWER},
    {"program_name", TEXT, 0, NEWER},
    {"pythonpath_env", TEXT, 0, NEWER},
    {"home", TEXT, 0, NEWER},
    {"platlibdir", TEXT, 0, NEWER},
    {"module_search_paths_set", NUMBER, 0, NEWER},
    {"module_search_paths", TEXTS, 0, NEWER},
    {"stdlib_dir", TEXT, 11, NEWER},
    {"executable", TEXT, 0, NEWER},
    {"base_executable", TEXT, 0, NEWER},
    {"prefix", TEXT, 0, NEWER},
    {"base_prefix", TEXT, 0, NEWER},
    {"exec_prefix", TEXT, 0, NEWER},
    {"base_exec_prefix", TEXT, 0, NEWER},
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

/* ---- places of fields -------------------------------------------------------------------- */

typedef struct {
    ptrdiff_t length;
    wchar_t **items;
} TextList;

static size_t size_of(Kind kind) {
    static const size_t sizes[] = {sizeof(int), sizeof(unsigned long), sizeof(void *),
                                   sizeof(TextList)};
    return sizes[kind];
}

static size_t alignment_of(Kind kind) { return kind == TEXTS ? sizeof(void *) : size_of(kind); }

static int has_field(const Field *field, int minor, int is_free_threaded) {
    if (!strcmp(field->name, "enable_gil") && !is_free_threaded) return 0;
    return field->first <= minor && minor <= field->last;
}

/* Where a field is in the struct of a version; -1 if that has no such field. */
ptrdiff_t python_config_place(const char *name, int minor, int is_free_threaded) {
    size_t place = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!has_field(&fields[i], minor, is_free_threaded)) continue;
        size_t alignment = alignment_of(fields[i].kind);
        place = (place + alignment - 1) / alignment * alignment;
        if (!strcmp(name, fields[i].name)) return (ptrdiff_t)place;
        place += size_of(fields[i].kind);
    }
    return -1;
}

/* ---- a configuration ----------------------------------------------------------------------- */

/* What functions of the configuration return, the same in all versions. */
typedef struct {
    int type; /* 0 if all is well */
    const char *function, *message;
    int exit_code;
} Status;

typedef struct {
    void *library;
    int minor, is_free_threaded;
    /* The struct, in more room than any version needs (3.13 has 432 bytes); or, with names, what
       PyInitConfig_Create gave. */
    _Alignas(16) unsigned char content[4096];
    void *by_names;
    char failure[512]; /* why it cannot be used; empty if it can */
} Config;

#define FUNCTION(config, result, name, arguments)                                            \
    result(*name) arguments = NULL;                                                          \
    if (!(*(void **)&name = python_symbol((config)->library, #name))) {                      \
        snprintf((config)->failure, sizeof(config)->failure,                                 \
                 "this Python has no function " #name);                                      \
        return;                                                                              \
    }

static void note(Config *config, Status status) {
    if (status.type == 0 || config->failure[0]) return;
    snprintf(config->failure, sizeof config->failure, "%s%s%s",
             status.function ? status.function : "", status.function ? ": " : "",
             status.message ? status.message : "no reason is given");
}

static void note_by_names(Config *config, int failed) {
    const char *message = NULL;
    FUNCTION(config, int, PyInitConfig_GetError, (void *, const char **));
    if (!failed || config->failure[0]) return;
    PyInitConfig_GetError(config->by_names, &message);
    snprintf(config->failure, sizeof config->failure, "%s",
             message ? message : "no reason is given");
}

static void *place_of(Config *config, const char *name) {
    ptrdiff_t place = python_config_place(name, config->minor, config->is_free_threaded);
    return place < 0 ? NULL : config->content + place;
}

static void set_number(Config *config, const char *name, int value) {
    if (config->failure[0]) return;
    if (config->by_names) {
        FUNCTION(config, int, PyInitConfig_SetInt, (void *, const char *, long long));
        note_by_names(config, PyInitConfig_SetInt(config->by_names, name, value));
        return;
    }
    int *place = place_of(config, name);
    if (place) *place = value;
}

static void set_text(Config *config, const char *name, const char *value) {
    if (config->failure[0]) return;
    if (config->by_names) {
        FUNCTION(config, int, PyInitConfig_SetStr, (void *, const char *, const char *));
        note_by_names(config, PyInitConfig_SetStr(config->by_names, name, value));
        return;
    }
    FUNCTION(config, Status, PyConfig_SetBytesString, (void *, wchar_t **, const char *));
    wchar_t **place = place_of(config, name);
    if (place) note(config, PyConfig_SetBytesString(config->content, place, value));
}

#define MOST_FOLDERS 8

static void add_search_path(Config *config, const char *path) {
    FUNCTION(config, Status, PyWideStringList_Append, (TextList *, const wchar_t *));
    FUNCTION(config, wchar_t *, Py_DecodeLocale, (const char *, size_t *));
    FUNCTION(config, void, PyMem_RawFree, (void *));
    wchar_t *wide = Py_DecodeLocale(path, NULL);
    if (!wide) {
        snprintf(config->failure, sizeof config->failure, "'%s' is no path", path);
        return;
    }
    note(config, PyWideStringList_Append(place_of(config, "module_search_paths"), wide));
    PyMem_RawFree(wide);
}

static void set_search_paths(Config *config, char *const paths[], size_t count) {
    if (config->by_names && !config->failure[0]) {
        FUNCTION(config, int, PyInitConfig_SetStrList,
                 (void *, const char *, size_t, char *const *));
        note_by_names(config, PyInitConfig_SetStrList(config->by_names, "module_search_paths",
                                                      count, paths));
        return;
    }
    for (size_t i = 0; i < count && !config->failure[0]; i++) add_search_path(config, paths[i]);
    set_number(config, "module_search_paths_set", 1);
}

/* ---- starting --------------------------------------------------------------------------------- */

/* PyPreConfig up to the field that is set here; the same in all versions that have the struct. */
typedef struct {
    int config_init, parse_argv, isolated, use_environment, configure_locale, coerce_c_locale,
        coerce_c_locale_warn;
#ifdef _WIN32
    int legacy_windows_fs_encoding;
#endif
    int utf8_mode;
    int others[32]; /* in more room than any version needs */
} PreConfig;

/* Texts are in UTF-8, whatever the locale of the host. */
static void prepare_struct(Config *config) {
    FUNCTION(config, void, PyPreConfig_InitIsolatedConfig, (PreConfig *));
    FUNCTION(config, Status, Py_PreInitialize, (const PreConfig *));
    FUNCTION(config, void, PyConfig_InitIsolatedConfig, (void *));
    PreConfig before = {0};
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    note(config, Py_PreInitialize(&before));
    PyConfig_InitIsolatedConfig(config->content);
}

static void prepare_names(Config *config) {
    FUNCTION(config, void *, PyInitConfig_Create, (void));
    config->by_names = PyInitConfig_Create();
    if (!config->by_names)
        snprintf(config->failure, sizeof config->failure, "there is no memory");
    set_number(config, "utf8_mode", 1);
}

static void prepare(Config *config, void *library, const PythonPlace *place) {
    memset(config, 0, sizeof *config);
    config->library = library;
    sscanf(place->version, "3.%d", &config->minor);
    /* A function that only the Python without a global lock has. */
    config->is_free_threaded = python_symbol(library, "_Py_DecRefShared") != NULL;
    if (config->minor < FIRST_WITH_NAMES)
        prepare_struct(config);
    else
        prepare_names(config);
}

/* An interpreter of the machine finds its parts as it always does, those of the user included. */
static void take_over_site(Config *config, const PythonPlace *place) {
    set_number(config, "isolated", 0);
    set_number(config, "user_site_directory", 1);
    set_text(config, "program_name", place->executable);
}

/* One that the FMU carries looks nowhere else, and what is in a path (a colon, for one) does not
   matter. The home is not set, as Python would take it apart at colons: it finds the prefix and the
   standard library by the place of the program, and all the rest is told. */
static void confine(Config *config, const PythonPlace *place) {
    static const char *const programs[] = {"program_name", "executable", "base_executable"};
    char folders[PATH_SIZE], *paths[MOST_FOLDERS];
    size_t count = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        set_text(config, programs[i], place->executable);
    set_text(config, "exec_prefix", place->home);
    set_text(config, "base_exec_prefix", place->home);
    set_number(config, "site_import", 0);
    set_number(config, "write_bytecode", 0);
    snprintf(folders, sizeof folders, "%s", place->folders);
    for (char *name = strtok(folders, ":"); name && count < MOST_FOLDERS; name = strtok(NULL, ":")) {
        size_t size = strlen(place->home) + strlen(name) + 2;
        if (!(paths[count] = malloc(size))) break;
        snprintf(paths[count++], size, "%s%c%s", place->home, PATH_SEPARATOR, name);
    }
    set_search_paths(config, paths, count);
    while (count > 0) free(paths[--count]);
}

static void initialize(Config *config) {
    if (config->by_names) {
        FUNCTION(config, int, Py_InitializeFromInitConfig, (void *));
        note_by_names(config, Py_InitializeFromInitConfig(config->by_names));
        return;
    }
    FUNCTION(config, Status, Py_InitializeFromConfig, (const void *));
    note(config, Py_InitializeFromConfig(config->content));
}

static void release(Config *config) {
    if (config->by_names) {
        FUNCTION(config, void, PyInitConfig_Free, (void *));
        PyInitConfig_Free(config->by_names);
        return;
    }
    FUNCTION(config, void, PyConfig_Clear, (void *));
    PyConfig_Clear(config->content);
}

int python_initialize(void *library, const PythonPlace *place, char *error, size_t error_size) {
    Config *config = malloc(sizeof *config);
    if (!config) {
        snprintf(error, error_size, "There is no memory to start Python.");
        return 0;
    }
    prepare(config, library, place);
    if (place->home[0])
        confine(config, place);
    else
        take_over_site(config, place);
    if (!config->failure[0]) initialize(config);
    int is_started = !config->failure[0];
    if (!is_started)
        snprintf(error, error_size,
                 "The Python in '%s' does not start (%s): it lacks a part, or something that it"
                 " needs, as memory or files that may be opened. Mend that and start the host anew:"
                 " no Python can be started in this process any more.",
                 place->library, config->failure);
    release(config);
    free(config);
    return is_started;
}
