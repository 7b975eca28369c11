/* Handles: numbers that stand for instances and states, see core.h.

   A handle holds the index of a slot and how often the slot was used before, mixed with the
   address of this library. A freed handle keeps its old count and therefore never fits again, and
   those of another FMU, which has a library of its own, do not fit either. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "core.h"
#include "platform.h"
#include "process.h"

#define INDEX_BITS 20
#define INDEX_MASK ((1u << INDEX_BITS) - 1)

typedef struct {
    void *object; /* NULL: the slot is free */
    uint32_t uses;
    HandleKind kind;
} Slot;

static Lock slots_lock = LOCK_INIT;
static Slot *slots;
static uint32_t slot_count;
/* How often a handle was made or freed. */
static _Atomic uint64_t changes = 1;

static void *handle_of(uint32_t index) {
    uint64_t library = (uint64_t)(uintptr_t)&slots_lock * 0x9E3779B97F4A7C15u >> INDEX_BITS;
    return (void *)(uintptr_t)((slots[index].uses ^ library) << INDEX_BITS | (index + 1));
}

/* The slot of a handle, or NULL if the handle is none of ours or was freed. */
static Slot *slot_of(void *handle) {
    uint64_t number = (uint64_t)(uintptr_t)handle;
    uint32_t index = (uint32_t)(number & INDEX_MASK) - 1;
    if (number == 0 || index >= slot_count || !slots[index].object) return NULL;
    return handle_of(index) == handle ? &slots[index] : NULL;
}

static int add_slots(void) {
    uint32_t count = slot_count ? 2 * slot_count : 64;
    Slot *larger = count < INDEX_MASK ? realloc(slots, count * sizeof(Slot)) : NULL;
    if (!larger) return 0;
    slots = larger;
    for (; slot_count < count; slot_count++) slots[slot_count] = (Slot){NULL, 0, 0};
    return 1;
}

void *handle_new(HandleKind kind, void *object) {
    lock_acquire(&slots_lock);
    uint32_t index = 0;
    while (index < slot_count && slots[index].object) index++;
    void *handle = NULL;
    if (index < slot_count || add_slots()) {
        slots[index] = (Slot){object, slots[index].uses + 1, kind};
        changes++;
        handle = handle_of(index);
    }
    lock_release(&slots_lock);
    return handle;
}

static void *look_up(HandleKind kind, void *handle) {
    lock_acquire(&slots_lock);
    Slot *slot = slot_of(handle);
    void *object = slot && slot->kind == kind ? slot->object : NULL;
    lock_release(&slots_lock);
    return object;
}

/* What a thread has found last. It holds as long as no handle was made or freed since: finding
   it again takes no lock, which would be a third of the cost of getting a few values. */
static THREAD_LOCAL struct {
    uint64_t when; /* of `changes`; 0 for nothing found yet */
    HandleKind kind;
    void *handle, *object;
} last;

void *handle_find(HandleKind kind, void *handle) {
    uint64_t now = atomic_load_explicit(&changes, memory_order_acquire);
    if (last.when == now && last.handle == handle && last.kind == kind) return last.object;
    void *object = look_up(kind, handle);
    if (object) {
        last.when = now;
        last.kind = kind;
        last.handle = handle;
        last.object = object;
    }
    return object;
}

void handle_free(void *handle) {
    lock_acquire(&slots_lock);
    Slot *slot = slot_of(handle);
    if (slot) slot->object = NULL;
    changes++;
    lock_release(&slots_lock);
}

#ifndef _WIN32
void handles_renew_lock(void) { slots_lock = (Lock)LOCK_INIT; }
#endif
