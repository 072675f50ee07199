#include "store/store-internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/statvfs.h>

/* LMDB trusts its pages. A damaged offset leads outside of a page, outside of the file (SIGBUS) or into an assertion.
 * The process must not look like a crash of Lethe: it names the damaged store and ends. */

static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT};
static struct sigaction before[ARRAY_SIZE(signals)];
/* The open stores. A signal handler cannot lock, so it reads a table whose rows are set and cleared whole. */
#define STORES_MAX 256
typedef struct FaultRow {
        _Atomic uintptr_t from, to; /* of the map */
        _Atomic size_t n_message;   /* 0: a free row */
        char message[600];
        const char *dir; /* borrowed */
        _Atomic size_t n_full;
        char full[600];
} FaultRow;
static FaultRow rows[STORES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int exit_code = 125, exit_full = 125;
static unsigned users;

void store_set_fault_exit(int code, int full) {
        exit_code = code;
        exit_full = full;
}

/* The store with the address in its map. For a fault inside LMDB outside of all maps: any open store. */
static const FaultRow *fault_find_row(uintptr_t at) {
        const FaultRow *any = NULL;

        for (size_t i = 0; i < STORES_MAX; i++) {
                if (atomic_load(&rows[i].n_message) == 0)
                        continue;
                any = &rows[i];
                if (at >= atomic_load(&rows[i].from) && at < atomic_load(&rows[i].to))
                        return any;
        }
        return pages_depth > 0 ? any : NULL;
}

/* A page of the lock file without a block on a full disk: SIGBUS outside of the data's map. */
static bool fault_is_full(const FaultRow *row, int sig, uintptr_t at) {
        struct statvfs st;

        if (sig != SIGBUS || (at >= atomic_load(&row->from) && at < atomic_load(&row->to)))
                return false;
        return statvfs(row->dir, &st) == 0 && st.f_bavail * st.f_frsize < 256 * 1024;
}

static void fault_handler(int sig, siginfo_t *info, void *context) {
        const FaultRow *row = sig == SIGABRT && pages_depth == 0 ? NULL : fault_find_row((uintptr_t)info->si_addr);

        if (row && fault_is_full(row, sig, (uintptr_t)info->si_addr))
                _exit(write(STDERR_FILENO, row->full, atomic_load(&row->n_full)) < 0 ? exit_code : exit_full);
        if (row) {
                if (write(STDERR_FILENO, row->message, atomic_load(&row->n_message)) < 0)
                        _exit(exit_code);
                _exit(exit_code);
        }
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                if (signals[i] == sig)
                        sigaction(sig, &before[i], NULL);
        if (sig == SIGABRT)
                raise(sig);
        /* After the return the faulting instruction runs again, with the earlier handler. */
}

static FaultRow *fault_free_row(void) {
        for (size_t i = 0; i < STORES_MAX; i++)
                if (atomic_load(&rows[i].n_message) == 0)
                        return &rows[i];
        return NULL;
}

int fault_guard_install(Store *s) {
        struct sigaction sa = {.sa_sigaction = fault_handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
        FaultRow *row;

        pthread_mutex_lock(&lock);
        row = fault_free_row();
        if (row) {
                int n = snprintf(row->message, sizeof(row->message),
                                 "lethe: store %.400s: data.mdb is damaged or cannot be read: a page does "
                                 "not hold together\n",
                                 s->dir);

                row->dir = s->dir;
                atomic_store(&row->n_full,
                             (size_t)snprintf(row->full, sizeof(row->full),
                                              "lethe: store %.400s: the disk has no room for lock.mdb (64 KiB)\n",
                                              s->dir));
                atomic_store(&row->n_message, (size_t)n);
                for (size_t i = 0; users == 0 && i < ARRAY_SIZE(signals); i++)
                        sigaction(signals[i], &sa, &before[i]);
                users++;
        }
        pthread_mutex_unlock(&lock);
        s->guard = row;
        return row ? 0 : -EMFILE;
}

void fault_guard_map(Store *s, const void *p, size_t n_file, size_t n_map) {
        FaultRow *row = s->guard;
        uintptr_t at = (uintptr_t)p;

        atomic_store(&row->from, at > n_file ? at - n_file : 0);
        atomic_store(&row->to, at + n_map);
}

void fault_guard_remove(Store *s) {
        FaultRow *row = s->guard;

        if (!row)
                return;
        pthread_mutex_lock(&lock);
        atomic_store(&row->n_message, 0);
        atomic_store(&row->from, 0);
        atomic_store(&row->to, 0);
        for (size_t i = 0; users == 1 && i < ARRAY_SIZE(signals); i++)
                sigaction(signals[i], &before[i], NULL);
        users--;
        pthread_mutex_unlock(&lock);
        s->guard = NULL;
}
