/* What there is once in a process, however many FMUs are loaded into it. */
#ifndef SENSOR_FMUS_PROCESS_H
#define SENSOR_FMUS_PROCESS_H

#include <stddef.h>

/* The lock under which a Python is looked for and started. Each FMU brings a library of its own,
   and the first instances of two of them may be made at the same moment in two threads. Nobody may
   wait for it who holds Python's lock. */
void process_lock(void);
void process_unlock(void);

/* Whether this is the first time in the process that anybody asks. Needs the lock above. */
int is_first_in_process(void);

/* Whether a Python did not come to life in this process: none can be started then. Needs the lock
   above. */
int process_is_spoilt(void);
void process_spoil(void);

/* Called in a child after fork: the threads that held the locks are not there. */
void process_renew_lock(void);
void handles_renew_lock(void); /* in handles.c */

/* The bytes of stack that are left to this thread; SIZE_MAX where that is not known. */
size_t stack_left(void);

#endif
