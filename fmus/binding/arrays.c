/* Variables with dimensions, see core.h. They hold no values of their own: an array is a list of
   scalars, and what is set or got are these. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

int arrays_begin(Instance *instance) {
    instance->messages_in = calloc(instance->arrays.count + 1, sizeof *instance->messages_in);
    return instance->messages_in != NULL;
}

void arrays_free(Instance *instance) {
    for (size_t i = 0; instance->messages_in && i < instance->arrays.count; i++)
        free(instance->messages_in[i]);
    free(instance->messages_in);
}

/* ---- from arrays to scalars --------------------------------------------------------------- */

static const Array *find_array(Instance *instance, ValueReference reference, ArrayKind kind,
                               const char *function) {
    const Arrays *arrays = &instance->arrays;
    if (reference < arrays->count && arrays->all[reference].kind == (uint32_t)kind)
        return &arrays->all[reference];
    report_error(instance, "%s: value reference %u is no variable of this type.", function,
                 reference);
    return NULL;
}

const Array *array_of(Instance *instance, ValueReference reference, ArrayKind kind,
                      ArrayKind or_kind, const char *function) {
    const Arrays *arrays = &instance->arrays;
    if (reference < arrays->count && arrays->all[reference].kind == (uint32_t)or_kind)
        return &arrays->all[reference];
    return find_array(instance, reference, kind, function);
}

/* The number of scalars of some arrays, or -1 with a message; and whether the scalars of each array
   follow those of the one before, so that nobody has to gather them. Without branches: those that
   nobody can foresee take longer than all else here. */
static long long number_of(Instance *instance, ArrayKind kind, const ValueReference references[],
                           size_t arrays, int *follow, const char *function) {
    const Arrays *known = &instance->arrays;
    long long number = 0;
    uint32_t next = 0, is_other = 0, is_apart = 0;
    for (size_t i = 0; known->count && i < arrays; i++) {
        size_t is_beyond = references[i] >= known->count;
        const Array *array = &known->all[is_beyond ? 0 : references[i]];
        is_other |= (uint32_t)is_beyond | (array->kind ^ (uint32_t)kind);
        is_apart |= i ? next ^ array->first : 0;
        next = array->first + array->count;
        number += array->count;
    }
    *follow = !is_apart;
    if (!is_other && (known->count || !arrays)) return number;
    for (size_t i = 0; i < arrays; i++)
        if (!find_array(instance, references[i], kind, function)) return -1;
    return -1;
}

/* Writes the scalars of arrays one after the other. */
static int gather(const Arrays *known, const ValueReference references[], size_t arrays,
                  Scalars *scalars) {
    ValueReference *next = scalars->some;
    if (scalars->count > sizeof scalars->some / sizeof *scalars->some)
        next = scalars->own = malloc(scalars->count * sizeof *next);
    if (!next) return 0;
    scalars->references = next;
    for (size_t i = 0; i < arrays; i++) {
        const Array *array = &known->all[references[i]];
        memcpy(next, known->scalars + array->first, array->count * sizeof *next);
        next += array->count;
    }
    return 1;
}

int scalars_of(Instance *instance, ArrayKind kind, const ValueReference references[], size_t arrays,
               size_t count, const void *values, Scalars *scalars, const char *function) {
    int follow;
    scalars->own = NULL;
    if ((arrays > 0 && !references) || (count > 0 && !values)) {
        report_error(instance, "%s: an array is NULL.", function);
        return 0;
    }
    long long number = number_of(instance, kind, references, arrays, &follow, function);
    if (number < 0) return 0;
    if ((size_t)number != count) {
        report_error(instance, "%s: these variables have %lld values, and there are %zu.", function,
                     number, count);
        return 0;
    }
    scalars->count = count;
    scalars->references = scalars->some;
    if (follow) {
        if (arrays) scalars->references = instance->arrays.scalars +
                                          instance->arrays.all[references[0]].first;
        return 1;
    }
    if (gather(&instance->arrays, references, arrays, scalars)) return 1;
    report_error(instance, "%s: out of memory.", function);
    return 0;
}

void scalars_free(Scalars *scalars) {
    free(scalars->own);
    scalars->own = NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Asks the Python object for the bytes of a frame. */
static Result make_frame(Instance *instance, uint32_t place, const char *function) {
    PythonHold hold;
    if (!enter_python(instance, &hold, function)) return RESULT_ERROR;
    PyObject *result =
        PyObject_CallMethod(instance->slave, "make_frame_bytes", "i", (int)place);
    Result status = finish_call(instance, result, function);
    python_unlock(&hold);
    return status;
}

/* Without bytes there is an address all the same: some hosts do not look at the size. */
static Result give_bytes(uint64_t address, uint64_t count, const unsigned char **bytes,
                         size_t *size) {
    static const unsigned char none[1] = {0};
    *size = address ? (size_t)count : 0;
    *bytes = *size ? (const unsigned char *)(uintptr_t)address : none;
    return RESULT_OK;
}

Result core_get_bytes(Instance *instance, const Array *array, const unsigned char **bytes,
                      size_t *size, const char *function) {
    if (array->kind == FRAME_ARRAY) {
        FrameBytes *frame = &instance->arrays.frames[array->first];
        if (frame->is_pending && make_frame(instance, array->first, function) != RESULT_OK)
            return RESULT_ERROR;
        return give_bytes(frame->address, frame->size, bytes, size);
    }
    int place[3]; /* the halves of an address, and a size */
    Result status = core_get_integers(instance, instance->arrays.scalars + array->first, 3, place,
                                      function);
    if (status != RESULT_OK) return status;
    uint64_t address = (uint64_t)(uint32_t)place[1] << 32 | (uint32_t)place[0];
    return give_bytes(address, place[2] > 0 ? (uint64_t)place[2] : 0, bytes, size);
}

/* Puts an address and a size on the scalars of a message. */
static Result place_message(Instance *instance, const Array *array, const char *bytes, size_t size,
                            const char *function) {
    uint64_t address = size ? (uint64_t)(uintptr_t)bytes : 0;
    int place[3] = {(int)(uint32_t)address, (int)(uint32_t)(address >> 32), (int)size};
    return core_set_integers(instance, instance->arrays.scalars + array->first, 3, place, function);
}

Result core_set_bytes(Instance *instance, ValueReference reference, const unsigned char *bytes,
                      size_t size, const char *function) {
    const Array *array = array_of(instance, reference, MESSAGE_ARRAY, FRAME_ARRAY, function);
    if (!array) return RESULT_ERROR;
    if (array->kind == FRAME_ARRAY)
        return report_error(instance, "%s: value reference %u is an output and cannot be set.",
                            function, reference);
    if (size > INT32_MAX)
        return report_error(instance, "%s: %zu bytes are too many, allowed are %d.", function, size,
                            INT32_MAX);
    if (size && !bytes) return report_error(instance, "%s: an array is NULL.", function);
    char *copy = malloc(size + 1); /* one more, so that none is no failure */
    if (!copy) return report_error(instance, "%s: out of memory.", function);
    if (size) memcpy(copy, bytes, size);
    Result status = place_message(instance, array, copy, size, function);
    if (status != RESULT_OK) {
        free(copy);
        return status;
    }
    free(instance->messages_in[reference]);
    instance->messages_in[reference] = copy;
    return RESULT_OK;
}

void arrays_restored(Instance *instance) {
    for (size_t i = 0; i < instance->arrays.count; i++) {
        const Array *array = &instance->arrays.all[i];
        if (array->kind != MESSAGE_ARRAY) continue;
        const ValueReference *place = instance->arrays.scalars + array->first;
        const Variables *integers = &instance->integers;
        if (integers->access[*place - integers->first] != SET_ALWAYS) continue; /* an output */
        for (int k = 0; k < 3; k++) ((int *)integers->values)[place[k] - integers->first] = 0;
        free(instance->messages_in[i]);
        instance->messages_in[i] = NULL;
    }
}
