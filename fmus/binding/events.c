/* Events, see core.h. A clock ticks when its counter, an Integer output that counts samples or
   frames, has changed: so compiled steps need not know of clocks. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

int events_begin(Instance *instance) {
    size_t count = instance->arrays.count + 1;
    instance->events.counts = calloc(count, sizeof(int));
    instance->events.ticks = calloc(count, 1);
    return instance->events.counts && instance->events.ticks;
}

void events_free(Instance *instance) {
    free(instance->events.counts);
    free(instance->events.ticks);
}

/* The counter of a clock. */
static int counter(const Instance *instance, const Array *clock) {
    ValueReference scalar = instance->arrays.scalars[clock->first];
    return ((const int *)instance->integers.values)[scalar - instance->integers.first];
}

int events_look(Instance *instance) {
    int any = 0;
    for (size_t i = 0; i < instance->arrays.count; i++) {
        const Array *clock = &instance->arrays.all[i];
        if (clock->kind != CLOCK_ARRAY) continue;
        int count = counter(instance, clock);
        if (count != instance->events.counts[i]) instance->events.ticks[i] = 1;
        instance->events.counts[i] = count;
        any |= instance->events.ticks[i];
    }
    return any;
}

void events_settle(Instance *instance) {
    events_look(instance);
    memset(instance->events.ticks, 0, instance->arrays.count + 1);
}

void events_save(const Instance *instance, SavedState *state) {
    size_t count = instance->arrays.count + 1;
    state->in_event_mode = instance->events.is_on;
    free(state->ticks);
    state->ticks = instance->events.is_used ? malloc(count) : NULL;
    if (state->ticks) memcpy(state->ticks, instance->events.ticks, count);
}

void events_restore(Instance *instance, const SavedState *state) {
    instance->events.is_on = state->in_event_mode && instance->phase == STEPPING;
    events_settle(instance);
    if (state->ticks)
        memcpy(instance->events.ticks, state->ticks, instance->arrays.count + 1);
}

Result core_early_end(Instance *instance, double time, double *end, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *number = PyObject_CallMethod(instance->slave, "early_end", "dd", time, *end);
    double found = number ? PyFloat_AsDouble(number) : *end;
    Result status = finish_call(instance, number, function);
    if (status == RESULT_OK && found > time && found < *end) *end = found;
    python_unlock(&hold);
    return status;
}
