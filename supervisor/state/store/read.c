/* A new reader sees every change that was acknowledged before. Mostly the tables have all changes. Between the record
 * in the log and LMDB's commit a reader waits: in the same process for the committing thread, in another process for
 * LMDB's lock, taken as a writer, so that records of a dead writer are applied. */
#include "store/wal.h"
#include "store/store-internal.h"
#include "base/log.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define WAIT_STEP_USEC 1000U
/* a commit takes a few steps; a process without write access cannot tell a slow writer from a dead writer */
#define WAIT_STEPS 2000U

void read_hold_up(Store *s) {
        atomic_fetch_add(&s->behind, 1);
}

void read_let_go(Store *s) {
        atomic_fetch_add(&s->behind, 1);
        syscall(SYS_futex, &s->behind, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void read_wait(Store *s) {
        uint32_t now = atomic_load(&s->behind);

        while (now % 2 && atomic_load(&s->behind) == now)
                syscall(SYS_futex, &s->behind, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

/* The tables are true and whole, but lack the newest events. */
static void read_warn(Store *s, const char *why) {
        if (!atomic_exchange(&s->said, true))
                log_warning("store %s: the newest events are in file " WAL_FILE
                            " and not in the tables yet (%s): these events are not shown here; any command that may "
                            "write to the store brings them in",
                            s->dir, why);
}

/* Applies left records, or waits. Returns 0 to look again, 1 to go on without the records, -errno. */
static int read_bring_in(Store *s, unsigned steps) {
        int r;

        if (!s->may_write) {
                if (steps >= WAIT_STEPS || atomic_load(&s->said)) {
                        read_warn(s, "the writer is gone");
                        return 1;
                }
                usleep(WAIT_STEP_USEC);
                return 0;
        }
        r = txn_bring_in(s);
        if (r < 0 && s->mode == STORE_READ) {
                read_warn(s, store_strerror(r));
                return 1;
        }
        return r;
}

int read_begin(Txn *t, bool at_once) {
        Store *s = t->store;
        uint64_t first = 0; /* transaction of the first record seen: later records were acknowledged later */

        if (!at_once)
                read_wait(s);
        for (unsigned steps = 0;; steps++) {
                /* In this order: the transaction of a record overwritten in between is in the snapshot. */
                uint64_t record = at_once ? 0 : wal_number(s), next;
                int r = lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &t->mdb)));

                next = r < 0 ? 0 : mdb_txn_id(t->mdb) + 1;
                if (r < 0 || record == 0 || (record != WAL_NUMBER_DAMAGED && record != next) ||
                    (first > 0 && next > first))
                        return r;
                r = wal_is_left(s, t->mdb, next);
                /* or a writer is at work */
                if (r == 0 && wal_may_be_broken(s, next) && !atomic_load(&s->said_broken) && s->may_write &&
                    steps == 0) {
                        LMDB((mdb_txn_abort(t->mdb), 0));
                        txn_bring_in(s);
                        continue;
                }
                if (r == 0 && wal_number(s) == record) /* the record does not count */
                        return 0;
                if (r >= 0) {
                        LMDB((mdb_txn_abort(t->mdb), 0));
                        first = first == 0 && r > 0 ? next : first;
                        r = r > 0 ? read_bring_in(s, steps) : 0;
                        if (r > 0)
                                return lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &t->mdb)));
                } else
                        LMDB((mdb_txn_abort(t->mdb), 0));
                if (r < 0)
                        return r;
        }
}
