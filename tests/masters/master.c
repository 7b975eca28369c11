/* A co-simulation master for FMI 2.0 in plain C, driven line by line. For Linux.
 *
 * It opens FMUs as any host that is no Python process does (dlopen with RTLD_NOW | RTLD_LOCAL),
 * links nothing but the C library, and makes exactly the calls it is told to, good or bad.
 *
 * A command is one line of words with one space between them:
 *   load <library> <path>                    unload <library>
 *   missing <library> <function>...          replies those that the library does not export
 *   copy_state <from> <to>                   gives a state handle a second name
 *   memory                                   replies the resident memory in bytes
 *   signals                                  replies the signals with another handler than at first
 *   fmi2<Function> <instance> <argument>...  calls it, arguments in the order of the C function
 * and, each described in loops.c,
 *   cycle <library> <instance> <count> <step> <identity>
 *   create <stack size> (<library> <instance> <identity>)...
 *   threads <start> <step> <count> <instance>...
 *   alternate <start> <step> <count> <instance>
 *   newthreads <start> <step> <count> <instance>
 *   bench <start> <step> <count> <instance> <inputs> <start values> <rates> <outputs> <blocks>
 * and, in system.c,
 *   limit files|size <number>
 *   forks <count> <start> <step> <instance> <child's instance>
 *
 * fmi2Instantiate takes <library> <instance> <identity> and, if wanted, no-logger, no-memory or
 * none as its callbacks; <identity> is <name> <type> <guid> <resources> <visible> <logging>.
 * Libraries, instances and states have names of the caller's choice. Instances @null/<library>,
 * @wild/<library> and @foreign/<library> are a null pointer, one to unmapped memory, and one to
 * memory of the master's own; so are the states @null, @wild and @foreign, and where a state's
 * address is passed @nowhere is a null pointer. Instances @of:<instance>/<library> are pointers
 * that another library has made. A freed instance keeps its name and its pointer.
 * Arrays are joined by commas, or @empty, or @null:<count>; strings are percent-encoded, or @null;
 * a serialised state is hexadecimal. Array lengths are not words of their own. A last word @null
 * of a call that fills a buffer passes a null pointer for the buffer.
 *
 * The reply has these lines, and always ends with one of the last two:
 *   message <to> <from> <status> <category> <text>   one for each message logged since
 *   dropped <count>                                  messages there was no room for
 *   values <word>...                                 what the command asked for
 *   done <status>                                    the call's status, - if it has none
 *   refused <reason>                                 instead, when nothing was called
 * <to> is the instance whose callbacks were used, <from> the name that the FMU gave. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "libraries.h"
#include "loops.h"
#include "protocol.h"
#include "system.h"

enum { SIGNAL_LIMIT = 32 };

typedef void (*signal_handler)(int);

static signal_handler first_handlers[SIGNAL_LIMIT];

static signal_handler handler_of(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 ? action.sa_handler : SIG_DFL;
}

static void remember_signals(void) {
    for (int number = 1; number < SIGNAL_LIMIT; number++) {
        first_handlers[number] = handler_of(number);
    }
}

static void list_changed_signals(void) {
    for (int number = 1; number < SIGNAL_LIMIT; number++) {
        if (handler_of(number) != first_handlers[number]) {
            reply_integer(number);
        }
    }
    finish_without_status();
}

static void report_memory(void) {
    reply_integer(resident_memory());
    finish_without_status();
}

static const struct command own_commands[] = {
    {"load", load},
    {"unload", unload},
    {"missing", list_missing_functions},
    {"copy_state", copy_state},
    {"memory", report_memory},
    {"signals", list_changed_signals},
    {NULL, NULL},
};

static void run(const char *name) {
    const struct command *tables[] = {own_commands, call_commands, loop_commands,
                                      system_commands};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (const struct command *command = tables[i]; command->name != NULL; command++) {
            if (strcmp(command->name, name) == 0) {
                command->run();
                return;
            }
        }
    }
    refuse("unknown command %s", name);
}

int main(void) {
    const char *name;
    open_protocol();
    remember_signals();
    while ((name = read_command()) != NULL) {
        if (setjmp(refused) == 0) {
            run(name);
        }
    }
    return EXIT_SUCCESS;
}
