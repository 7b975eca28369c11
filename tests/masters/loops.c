#include "loops.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "libraries.h"

/* A number of equal steps of one instance. */
struct run {
    fmi2DoStepTYPE *do_step;
    fmi2Component component;
    double start;
    double step;
    long count;
    long done;
    fmi2Status worst;
};

static bool failed(fmi2Status status) { return status > fmi2Warning; }

static fmi2Status worse(fmi2Status one, fmi2Status other) { return one > other ? one : other; }

long resident_memory(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        refuse("/proc/self/statm cannot be read");
    }
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* The steps to count before the first look at the memory, which by then has settled. */
static long first_tenth(long count) { return count < 10 ? 1 : count / 10; }

/* One life of an instance: created, initialised, stepped once, terminated, freed. */
static fmi2Status live(struct instance *instance, const struct identity *identity, double step) {
    struct library *library = instance->library;
    instance->component =
        create(FUNCTION(library, fmi2Instantiate), identity, &instance->callbacks);
    if (instance->component == NULL) {
        return fmi2Error;
    }
    fmi2Component component = instance->component;
    fmi2Status status = FUNCTION(library, fmi2SetupExperiment)(component, 0, 0.0, 0.0, 0, 0.0);
    status = worse(status, FUNCTION(library, fmi2EnterInitializationMode)(component));
    status = worse(status, FUNCTION(library, fmi2ExitInitializationMode)(component));
    status = worse(status, FUNCTION(library, fmi2DoStep)(component, 0.0, step, fmi2True));
    status = worse(status, FUNCTION(library, fmi2Terminate)(component));
    FUNCTION(library, fmi2FreeInstance)(component);
    return status;
}

/* Replies: lives completed, memory after the first tenth of them, memory at the end. */
static void cycle(void) {
    struct library *library = next_library();
    struct instance *instance = next_new_instance();
    long count = next_integer("count");
    double step = next_real("step");
    struct identity identity = next_identity();
    fmi2Status worst = fmi2OK;
    long early_memory = 0;
    long done = 0;
    give_callbacks(instance, library);
    while (done < count && !failed(worst)) {
        worst = worse(worst, live(instance, &identity, step));
        if (++done == first_tenth(count)) {
            early_memory = resident_memory();
        }
    }
    reply_integer(done);
    reply_integer(early_memory);
    reply_integer(resident_memory());
    finish(worst);
}

static struct run next_run(struct run run) {
    struct target target = next_target();
    run.do_step = FUNCTION(target.library, fmi2DoStep);
    run.component = target.component;
    return run;
}

/* Start time, step and number of steps. */
static struct run next_schedule(void) {
    struct run run = {.start = next_real("start time")};
    run.step = next_real("step");
    run.count = next_integer("number of steps");
    return run;
}

/* Makes the next step; false when there is none, or when this one failed. */
static bool advance(struct run *run) {
    if (run->done >= run->count || failed(run->worst)) {
        return false;
    }
    double time = run->start + (double)run->done * run->step;
    run->worst = worse(run->worst, run->do_step(run->component, time, run->step, fmi2True));
    run->done += !failed(run->worst);
    return !failed(run->worst);
}

static void start_thread(pthread_t *thread, void *(*work)(void *), void *argument) {
    if (pthread_create(thread, NULL, work, argument) != 0) {
        perror("master: pthread_create");
        exit(EXIT_FAILURE);
    }
}

static pthread_barrier_t starting_line;

/* An instance that is created in a thread of its own. */
struct birth {
    struct instance *instance;
    struct identity identity;
};

static void *be_born(void *argument) {
    struct birth *birth = argument;
    struct instance *instance = birth->instance;
    fmi2InstantiateTYPE *instantiate = FUNCTION(instance->library, fmi2Instantiate);
    pthread_barrier_wait(&starting_line);
    instance->component = create(instantiate, &birth->identity, &instance->callbacks);
    return NULL;
}

/* Creates instances at once, each in a thread of its own. Replies: 1 for each, 0 for NULL. */
static void create_in_threads(void) {
    enum { BIRTH_LIMIT = 16 };
    struct birth births[BIRTH_LIMIT];
    pthread_t threads[BIRTH_LIMIT];
    size_t stack_size = (size_t)next_integer("stack size");
    unsigned count = 0;
    while (more_words()) {
        if (count == BIRTH_LIMIT) {
            refuse("more than %d threads", BIRTH_LIMIT);
        }
        struct library *library = next_library();
        births[count].instance = next_new_instance();
        births[count].identity = next_identity();
        give_callbacks(births[count++].instance, library);
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_size > 0 && pthread_attr_setstacksize(&attributes, stack_size) != 0) {
        refuse("no thread can have a stack of %zu bytes", stack_size);
    }
    pthread_barrier_init(&starting_line, NULL, count > 0 ? count : 1);
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&threads[i], &attributes, be_born, &births[i]) != 0) {
            perror("master: pthread_create");
            exit(EXIT_FAILURE);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        reply_integer(births[i].instance->component != NULL);
    }
    pthread_attr_destroy(&attributes);
    pthread_barrier_destroy(&starting_line);
    finish_without_status();
}

static void *advance_all(void *argument) {
    pthread_barrier_wait(&starting_line);
    while (advance(argument)) {
    }
    return NULL;
}

/* Steps every instance named in a thread of its own, all at once. Replies: steps made by each. */
static void step_in_threads(void) {
    enum { RUN_LIMIT = 64 };
    struct run schedule = next_schedule();
    struct run runs[RUN_LIMIT];
    pthread_t threads[RUN_LIMIT];
    unsigned count = 0;
    while (more_words()) {
        if (count == RUN_LIMIT) {
            refuse("more than %d threads", RUN_LIMIT);
        }
        runs[count++] = next_run(schedule);
    }
    fmi2Status worst = fmi2OK;
    pthread_barrier_init(&starting_line, NULL, count > 0 ? count : 1);
    for (unsigned i = 0; i < count; i++) {
        start_thread(&threads[i], advance_all, &runs[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        reply_integer(runs[i].done);
        worst = worse(worst, runs[i].worst);
    }
    pthread_barrier_destroy(&starting_line);
    finish(worst);
}

/* Two threads that take turns at one run. */
struct turns {
    struct run run;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int whose;
    bool over;
};

struct player {
    struct turns *turns;
    int number;
};

static void *take_turns(void *argument) {
    struct player *player = argument;
    struct turns *turns = player->turns;
    pthread_mutex_lock(&turns->lock);
    while (!turns->over) {
        if (turns->whose == player->number) {
            turns->over = !advance(&turns->run);
            turns->whose = 1 - player->number;
            pthread_cond_broadcast(&turns->changed);
        } else {
            pthread_cond_wait(&turns->changed, &turns->lock);
        }
    }
    pthread_mutex_unlock(&turns->lock);
    return NULL;
}

/* Steps one instance alternately from two threads. Replies: steps made. */
static void step_alternately(void) {
    struct run schedule = next_schedule();
    struct turns turns = {.run = next_run(schedule)};
    struct player players[2] = {{&turns, 0}, {&turns, 1}};
    pthread_t threads[2];
    pthread_mutex_init(&turns.lock, NULL);
    pthread_cond_init(&turns.changed, NULL);
    for (int i = 0; i < 2; i++) {
        start_thread(&threads[i], take_turns, &players[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_cond_destroy(&turns.changed);
    pthread_mutex_destroy(&turns.lock);
    reply_integer(turns.run.done);
    finish(turns.run.worst);
}

static void *advance_once(void *argument) {
    advance(argument);
    return NULL;
}

/* Makes each step in a thread created for it.
 * Replies: steps made, memory after the first tenth of them, memory at the end. */
static void step_in_new_threads(void) {
    struct run schedule = next_schedule();
    struct run run = next_run(schedule);
    long early_memory = 0;
    while (run.done < run.count && !failed(run.worst)) {
        pthread_t thread;
        start_thread(&thread, advance_once, &run);
        pthread_join(thread, NULL);
        if (run.done == first_tenth(run.count)) {
            early_memory = resident_memory();
        }
    }
    reply_integer(run.done);
    reply_integer(early_memory);
    reply_integer(resident_memory());
    finish(run.worst);
}

/* Rounds of setting all inputs, stepping, and getting all outputs. */
struct rounds {
    struct run run;
    fmi2SetRealTYPE *set;
    fmi2GetRealTYPE *get;
    fmi2ValueReference *inputs;
    fmi2ValueReference *outputs;
    size_t input_count;
    size_t output_count;
    double *starts;
    double *rates;
    double *input_values;
    double *output_values;
};

static struct rounds next_rounds(void) {
    struct run schedule = next_schedule();
    struct target target = next_target();
    size_t start_count;
    size_t rate_count;
    struct rounds rounds = {.run = schedule};
    rounds.run.do_step = FUNCTION(target.library, fmi2DoStep);
    rounds.run.component = target.component;
    rounds.set = FUNCTION(target.library, fmi2SetReal);
    rounds.get = FUNCTION(target.library, fmi2GetReal);
    rounds.inputs = next_references(&rounds.input_count);
    rounds.starts = next_reals("start values", &start_count);
    rounds.rates = next_reals("rates", &rate_count);
    rounds.outputs = next_references(&rounds.output_count);
    if (start_count != rounds.input_count || rate_count != rounds.input_count) {
        refuse("%zu inputs need as many start values and rates", rounds.input_count);
    }
    rounds.input_values = scratch(rounds.input_count * sizeof(double));
    rounds.output_values = scratch(rounds.output_count * sizeof(double));
    return rounds;
}

/* One round; the inputs grow linearly, so that no FMU can pass by work it did before. */
static bool play_round(struct rounds *rounds) {
    struct run *run = &rounds->run;
    double elapsed = (double)run->done * run->step;
    for (size_t i = 0; i < rounds->input_count; i++) {
        rounds->input_values[i] = rounds->starts[i] + rounds->rates[i] * elapsed;
    }
    run->worst = worse(run->worst, rounds->set(run->component, rounds->inputs, rounds->input_count,
                                               rounds->input_values));
    bool stepped = advance(run);
    run->worst = worse(run->worst, rounds->get(run->component, rounds->outputs,
                                               rounds->output_count, rounds->output_values));
    return stepped && !failed(run->worst);
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int by_size(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0.0) - (difference < 0.0);
}

/* Times blocks of rounds. Replies: microseconds per round in the best and the median block. */
static void bench(void) {
    struct rounds rounds = next_rounds();
    long block_count = next_integer("blocks");
    long block_length = block_count > 0 ? rounds.run.count / block_count : 0;
    if (block_length < 1) {
        refuse("each block needs a step");
    }
    double *costs = scratch((size_t)block_count * sizeof *costs);
    bool going_on = true;
    for (long block = 0; block < block_count && going_on; block++) {
        double begin = microseconds();
        for (long i = 0; i < block_length && going_on; i++) {
            going_on = play_round(&rounds);
        }
        costs[block] = (microseconds() - begin) / (double)block_length;
    }
    if (going_on) {
        qsort(costs, (size_t)block_count, sizeof *costs, by_size);
        reply_real(costs[0]);
        reply_real(costs[block_count / 2]);
    }
    finish(rounds.run.worst);
}

const struct command loop_commands[] = {
    {"cycle", cycle},
    {"create", create_in_threads},
    {"threads", step_in_threads},
    {"alternate", step_alternately},
    {"newthreads", step_in_new_threads},
    {"bench", bench},
    {NULL, NULL},
};
