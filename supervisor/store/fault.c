#include "store/store-internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* LMDB trusts its pages: an offset that damage made wrong sends it outside a page, outside the file (SIGBUS) or into an
 * assertion. None of that may look like a crash of Lethe: the process says which store is damaged and ends. */

_Thread_local volatile int lmdb_depth;

static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT};
static struct sigaction before[ARRAY_SIZE(signals)];
static char message[600];
static size_t n_message;
static uintptr_t map_from, map_to;
static int exit_code = 125;
static unsigned users;

void store_set_fault_exit(int code) {
        exit_code = code;
}

static void handler(int sig, siginfo_t *info, void *context) {
        uintptr_t at = (uintptr_t)info->si_addr;

        if (lmdb_depth > 0 || (sig != SIGABRT && at >= map_from && at < map_to)) {
                if (write(STDERR_FILENO, message, n_message) < 0)
                        _exit(exit_code);
                _exit(exit_code);
        }
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                if (signals[i] == sig)
                        sigaction(sig, &before[i], NULL);
        if (sig == SIGABRT)
                raise(sig);
        /* On return the faulting instruction runs again, and meets what was there before us. */
}

void fault_guard_install(const char *dir) {
        struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
        int n = snprintf(message, sizeof(message),
                         "lethe: store %.400s: data.mdb is damaged or cannot be read: one of its pages does not hold\n",
                         dir);

        n_message = (size_t)n;
        if (users++ > 0)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sigaction(signals[i], &sa, &before[i]);
        /* A file size limit is an error of write(2) for us, not a signal; a handler, unlike SIG_IGN, does not outlive
         * exec. */
}

void fault_guard_map(const void *p, size_t n_file, size_t n_map) {
        uintptr_t at = (uintptr_t)p;

        map_from = at > n_file ? at - n_file : 0;
        map_to = at + n_map;
}

void fault_guard_remove(void) {
        if (users == 0 || --users > 0)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sigaction(signals[i], &before[i], NULL);
        map_from = map_to = 0;
}
