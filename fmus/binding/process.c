/* What there is once in a process, see process.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np */
#endif
#include "process.h"

#include <stdint.h>
#include <stdio.h>

#include "platform.h"

#ifdef _WIN32

/* A mutex with a name that holds the number of the process. */
static HANDLE mutex(void) {
    static HANDLE handle;
    char name[64];
    snprintf(name, sizeof name, "Local\\sensor-fmus-start-%lu", GetCurrentProcessId());
    if (!handle) handle = CreateMutexA(NULL, FALSE, name); /* made twice, it is the same one */
    return handle;
}

void process_lock(void) { WaitForSingleObject(mutex(), INFINITE); }
void process_unlock(void) { ReleaseMutex(mutex()); }
int is_first_in_process(void) { return 0; } /* asked for the sake of fork only */
void process_renew_lock(void) {}

static int is_spoilt; /* for this library's own part */
int process_is_spoilt(void) { return is_spoilt; }
void process_spoil(void) { is_spoilt = 1; }

size_t stack_left(void) {
    ULONG_PTR low, high;
    GetCurrentThreadStackLimits(&low, &high);
    return (uintptr_t)&low > low && (uintptr_t)&low <= high ? (uintptr_t)&low - low : SIZE_MAX;
}

#else

typedef struct {
    Lock lock;
    int was_asked, is_spoilt;
} Shared;

/* One object for all libraries of the process, also where each was opened privately. On Linux the
   loader joins symbols of the kind "unique" whatever the scope; only assembly can name that kind,
   and a lock there is free when it is zero. On macOS the loader joins weak ones (this was not
   tried). The name must change when the structure does. */
#ifdef __APPLE__
__attribute__((weak, visibility("default"))) Shared sensor_fmus_process_2 = {LOCK_INIT, 0, 0};
#else
_Static_assert(sizeof(Shared) <= 64, "the room that is made below");
__attribute__((visibility("default"))) extern Shared sensor_fmus_process_2;
__asm__(".pushsection .data, \"aw\"\n"
        ".balign 64\n"
        ".type sensor_fmus_process_2, %gnu_unique_object\n"
        ".size sensor_fmus_process_2, 64\n"
        "sensor_fmus_process_2: .zero 64\n"
        ".popsection\n");
#endif

void process_lock(void) { lock_acquire(&sensor_fmus_process_2.lock); }
void process_unlock(void) { lock_release(&sensor_fmus_process_2.lock); }

int is_first_in_process(void) {
    int first = !sensor_fmus_process_2.was_asked;
    sensor_fmus_process_2.was_asked = 1;
    return first;
}

int process_is_spoilt(void) { return sensor_fmus_process_2.is_spoilt; }
void process_spoil(void) { sensor_fmus_process_2.is_spoilt = 1; }

void process_renew_lock(void) { sensor_fmus_process_2.lock = (Lock)LOCK_INIT; }

/* The lowest address of this thread's stack and the highest. */
static void stack_of_thread(uintptr_t *low, uintptr_t *high) {
#ifdef __APPLE__
    *high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    *low = *high - pthread_get_stacksize_np(pthread_self());
#else
    pthread_attr_t attributes;
    void *address = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &address, &size);
        pthread_attr_destroy(&attributes);
    }
    *low = (uintptr_t)address;
    *high = *low + size;
#endif
}

size_t stack_left(void) {
    static THREAD_LOCAL uintptr_t low, high; /* asking takes longer than a step */
    if (!high) stack_of_thread(&low, &high);
    uintptr_t here = (uintptr_t)&(char){0};
    return here > low && here <= high ? here - low : SIZE_MAX; /* a coroutine's own stack */
}

#endif
