#include "system.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libraries.h"

/* limit files|size <number>: how many files this process may have open, how large one may grow. */
static void limit(void) {
    const char *kind = next_word("kind");
    int resource = strcmp(kind, "files") == 0 ? RLIMIT_NOFILE : RLIMIT_FSIZE;
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) {
        refuse("there is no such limit");
    }
    limits.rlim_cur = (rlim_t)next_integer("limit");
    if (setrlimit(resource, &limits) != 0) {
        refuse("the limit cannot be set");
    }
    finish_without_status();
}

/* An instance that is stepped in a thread until it is told to stop. */
struct stepping {
    struct target target;
    double time;
    double step;
    atomic_bool over;
};

static void *step_on(void *argument) {
    struct stepping *stepping = argument;
    fmi2DoStepTYPE *do_step = FUNCTION(stepping->target.library, fmi2DoStep);
    while (!stepping->over) {
        do_step(stepping->target.component, stepping->time, stepping->step, fmi2True);
        stepping->time += stepping->step;
    }
    return NULL;
}

/* What a child does: steps an instance, frees it, ends. */
_Noreturn static void live_as_child(struct target target, double step) {
    fmi2Real time = 0.0;
    FUNCTION(target.library, fmi2GetRealStatus)(target.component, fmi2LastSuccessfulTime, &time);
    fmi2Status status = FUNCTION(target.library, fmi2DoStep)(target.component, time, step, fmi2True);
    FUNCTION(target.library, fmi2FreeInstance)(target.component);
    _exit(status > fmi2Warning);
}

/* Whether a child ends well within a time; it is killed if it does not end at all. */
static bool ends_well(pid_t child) {
    enum { MILLISECONDS = 20000 };
    int status = -1;
    for (int waited = 0; waited < MILLISECONDS; waited++) {
        if (waitpid(child, &status, WNOHANG) == child) {
            return status == 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
}

/* forks <count> <start> <step> <instance> <child's instance>: while one instance is stepped in a
 * thread, forks children one after the other, which step and free the other instance. Replies: how
 * many children ended well. */
static void forks(void) {
    long count = next_integer("count");
    struct stepping stepping = {.time = next_real("start")};
    stepping.step = next_real("step");
    stepping.target = next_target();
    struct target of_child = next_target();
    pthread_t thread;
    if (pthread_create(&thread, NULL, step_on, &stepping) != 0) {
        refuse("there is no thread");
    }
    long well = 0;
    for (long k = 0; k < count; k++) {
        pid_t child = fork();
        if (child == 0) {
            live_as_child(of_child, stepping.step);
        }
        well += ends_well(child);
        nanosleep(&(struct timespec){.tv_nsec = 3000000 * (k % 7)}, NULL);
    }
    stepping.over = true;
    pthread_join(thread, NULL);
    reply_integer(well);
    finish_without_status();
}

const struct command system_commands[] = {
    {"limit", limit},
    {"forks", forks},
    {NULL, NULL},
};
