/* Who begins to read sees all that anybody was told of before. Nearly always that is in the tables; for the moment between the record in the redo file
 * and LMDB's commit a reader waits: in the same process for the word of who commits, in another one for LMDB's lock, which is taken by
 * the way of a writer, so that what a dead one left is brought in. */
#include "store/wal.h"
#include "store/store-internal.h"

#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define WAIT_STEP_USEC 1000U
#define WAIT_STEPS 2000U /* a commit takes a few of them; who may not write cannot tell a slow writer from a dead one */

void read_hold_up(Store *s) {
        atomic_fetch_add(&s->behind, 1);
}

void read_let_go(Store *s) {
        atomic_fetch_add(&s->behind, 1);
        syscall(SYS_futex, &s->behind, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wait_here(Store *s) {
        uint32_t now = atomic_load(&s->behind);

        while (now % 2 && atomic_load(&s->behind) == now)
                syscall(SYS_futex, &s->behind, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

/* What can be read is true all the same, and whole; it lacks the newest events. */
static void say(Store *s, const char *why) {
        if (!atomic_exchange(&s->said, true))
                log_warning("store %s: its newest events are in its file " WAL_FILE " and not in its tables yet (%s): they are not seen here; "
                            "any command that may write to the store brings them in", s->dir, why);
}

/* Returns 0 to look again, 1 to go on without, -errno. */
static int bring_in(Store *s, unsigned steps) {
        int r;

        if (!s->may_write) {
                if (steps >= WAIT_STEPS || atomic_load(&s->said)) {
                        say(s, "whoever wrote them is gone");
                        return 1;
                }
                usleep(WAIT_STEP_USEC);
                return 0;
        }
        r = txn_bring_in(s);
        if (r < 0 && s->mode == STORE_READ) {
                say(s, store_strerror(r));
                return 1;
        }
        return r;
}

int read_begin(Txn *t, bool at_once) {
        Store *s = t->store;
        uint64_t first = 0; /* transaction of what was left when this began: of more that is left meanwhile nobody was told before */

        if (!at_once)
                wait_here(s);
        for (unsigned steps = 0;; steps++) {
                /* In this order: a record that is written over between the two is of a transaction that the snapshot has. */
                uint64_t record = at_once ? 0 : wal_number(s), next;
                int r = lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &t->mdb)));

                next = r < 0 ? 0 : mdb_txn_id(t->mdb) + 1;
                if (r < 0 || record == 0 || (record != WAL_NUMBER_DAMAGED && record != next) || (first > 0 && next > first))
                        return r;
                r = wal_is_left(s, t->mdb, next);
                if (r == 0 && wal_may_be_broken(s, next) && !atomic_load(&s->said_broken) && s->may_write && steps == 0) { /* or a writer is at it */
                        LMDB((mdb_txn_abort(t->mdb), 0));
                        txn_bring_in(s);
                        continue;
                }
                if (r == 0 && wal_number(s) == record) /* not one that counts */
                        return 0;
                if (r >= 0) {
                        LMDB((mdb_txn_abort(t->mdb), 0));
                        first = first == 0 && r > 0 ? next : first;
                        r = r > 0 ? bring_in(s, steps) : 0;
                        if (r > 0)
                                return lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &t->mdb)));
                } else
                        LMDB((mdb_txn_abort(t->mdb), 0));
                if (r < 0)
                        return r;
        }
}
