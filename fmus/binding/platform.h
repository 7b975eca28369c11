/* What differs between operating systems: shared libraries, locks, threads' ends. */
#ifndef SENSOR_FMUS_PLATFORM_H
#define SENSOR_FMUS_PLATFORM_H

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#include <windows.h>
typedef SRWLOCK Lock;
#define LOCK_INIT SRWLOCK_INIT
#define lock_acquire AcquireSRWLockExclusive
#define lock_release ReleaseSRWLockExclusive
#define open_pipe _popen
#define close_pipe _pclose
#define PATH_SEPARATOR '\\'

#else

#include <dlfcn.h>
#include <pthread.h>
typedef pthread_mutex_t Lock;
#define LOCK_INIT PTHREAD_MUTEX_INITIALIZER
#define lock_acquire pthread_mutex_lock
#define lock_release pthread_mutex_unlock
#define open_pipe popen
#define close_pipe pclose
#define PATH_SEPARATOR '/'

#endif

#define THREAD_LOCAL _Thread_local
#define PATH_SIZE 4096

#endif
