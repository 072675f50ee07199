/* Group commit. Threads of one process that write at the same time share one LMDB transaction, a batch: one signature and one pair of
 * flushes for all of them.
 *
 *   begin:   wait for the turn; with no batch open, open one and be its leader, else be one of its followers
 *   commit:  pass the turn on. The leader sleeps until nobody waits for it, or until the batch is full; then it commits and tells
 *            all. (LMDB's lock is of the thread that took it, so that it is the leader who commits.)
 *   abort:   a follower takes back its own changes; a leader, before whom nobody wrote, the whole transaction
 *
 * Whoever is alone is a leader without followers, and waits for nobody. While a batch goes to the disk, those who come wait for the turn:
 * they are the next batch. The ledger's state goes from member to member with the batch (hooks.h).
 *
 * Members that are in a hurry (store_commit_ahead) are told when the batch's record is in the redo file, the others when LMDB has committed it,
 * right after. A leader in a hurry does the second half when it has done what it was in a hurry for.
 *
 * Where some records may be left (store_keep_ahead), a batch of which all are in a hurry has no second half: its transaction is taken back, and each that
 * follows begins with what the records say, until one commits it all. */
#include "base/log.h"
#include "store/journal.h"
#include "store/wal.h"
#include "store/store-internal.h"
#include "store/waited.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define CHECK_READERS 256 /* commits: a reader that was killed holds its snapshot, and the file grows until it is noticed */
#define MEMBERS_MAX 256 /* of one batch, so that the first does not wait without end */
#define LEFT_MEMBERS_MAX 32 /* a larger batch has shared its flushes already */

struct Batch {
        MDB_txn *mdb;
        void *ledger;     /* state of the members so far */
        unsigned members; /* that joined, those that aborted with them */
        int broken;       /* LMDB failed within a member's work: nothing of the batch can be committed */
        WalKeys keys;    /* what it wrote */
        unsigned n_ahead; /* members that are told ahead */
        unsigned n_plain; /* those that committed otherwise */
        bool brings;      /* what others were told of is in it, too */
        bool recorded;    /* in the redo file */
        bool left;        /* it is nowhere else, until somebody brings it in */
        Flag closed;      /* the turn is the leader's again */
        Flag kept;        /* for those who are told ahead */
        Flag done;
        int result;       /* set when done: 0 or -errno */
        const char *what; /* the words for it */
        _Atomic unsigned users;
};

/* Between store_commit_ahead() and store_commit_rest(), where this thread would wait for itself. */
static _Thread_local unsigned rests;

static void batch_free(Batch *b) {
        wal_keys_deinit(&b->keys);
        free(b);
}

static void batch_unref(Batch *b) {
        if (atomic_fetch_sub_explicit(&b->users, 1, memory_order_acq_rel) == 1)
                batch_free(b);
}

static bool disk_is_full(const Store *s) {
        struct statvfs st;

        return fstatvfs(s->dir_fd, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < 256 * 1024;
}

int store_true_error(const Store *s, int r) {
        return r == -EIO && disk_is_full(s) ? -ENOSPC : r;
}

static int lmdb_commit(Store *s, MDB_txn *t) {
        int r = store_write_commit(s, t);

        if (r == 0)
                checked_committed(s);
        return store_true_error(s, r);
}

/* Once; a torn one is what a power cut leaves. */
static void say_broken(Store *s, WalBroken how) {
        if (how == WAL_WHOLE || atomic_exchange(&s->said_broken, true))
                return;
        if (how == WAL_TORN)
                log_note("store %s: the newest record of its file " WAL_FILE " was torn while it was written; nobody was told of that commit, and nothing is lost", s->dir);
        else if (how == WAL_DAMAGED)
                log_warning("store %s: a record of its file " WAL_FILE " was damaged after it was written: a commit that was acknowledged is lost, if it was not in the tables yet; "
                            "look at the disk", s->dir);
        else
                log_warning("store %s: its file " WAL_FILE " has a record of the next commit that does not hold together: either it was torn while it was written, and "
                            "nobody was told of that commit, or it was damaged since, and that commit is lost", s->dir);
}

/* Takes LMDB's lock. What somebody was told of, and did not get into the tables, is the first that is written: with the number that it had. When more
 * may be left, it is committed with what follows. */
static int lmdb_begin(Store *s, MDB_txn **ret) {
        for (size_t last = 0;;) {
                uint64_t number;
                bool looked;
                MDB_txn *t;
                int r = store_write_begin(s, &t);

                if (r < 0)
                        return r;
                s->chain = (WalChain){0};
                r = checked_before_write(s, mdb_txn_id(t) - 1);
                if (r < 0) {
                        store_write_abort(s, t);
                        return r;
                }
                number = wal_number(s);
                r = number == mdb_txn_id(t) || number == WAL_NUMBER_DAMAGED ? wal_is_left(s, t, mdb_txn_id(t)) : 0;
                looked = r >= 0 && (number == mdb_txn_id(t) || number == WAL_NUMBER_DAMAGED);
                if (r > 0) /* others may have left more meanwhile, but not of the same transaction again */
                        r = last == mdb_txn_id(t) ? -EUCLEAN : wal_apply(s, t);
                if (r == 0 && looked)
                        say_broken(s, wal_broken(s, t, mdb_txn_id(t)));
                last = mdb_txn_id(t);
                if (r == 0 && (s->chain.n == 0 || s->chain.n < s->keeps)) {
                        *ret = t;
                        return 0;
                }
                if (r < 0) {
                        store_write_abort(s, t);
                        return r;
                }
                r = lmdb_commit(s, t);
                if (r < 0)
                        return r;
        }
}

static int batch_open(Store *s) {
        Batch *b = calloc(1, sizeof(*b));
        int r;

        if (!b)
                return -ENOMEM;
        r = lmdb_begin(s, &b->mdb);
        if (r < 0) {
                batch_free(b);
                return r;
        }
        b->brings = s->chain.n > 0;
        s->batch = b;
        return 0;
}

static int begin_write(Txn *t) {
        Store *s = t->store;
        int r = 0;

        waited_begin();
        ticket_take(&s->turn);
        t->leads = !s->batch;
        if (t->leads)
                r = batch_open(s);
        waited_end();
        if (r < 0) {
                ticket_leave(&s->turn);
                return r;
        }
        t->batch = s->batch;
        t->mdb = t->batch->mdb;
        t->batch->members++;
        atomic_fetch_add_explicit(&t->batch->users, 1, memory_order_relaxed);
        return 0;
}

static int begin(Store *s, bool write, bool at_once, Txn **ret, Diag *reterr) {
        _cleanup_free_ Txn *t = calloc(1, sizeof(*t));
        int r;

        assert(rests == 0);
        if (!t)
                return -ENOMEM;
        t->store = s;
        t->write = write;
        r = write ? begin_write(t) : read_begin(t, at_once);
        if (r < 0)
                return store_refusal(s, r, write ? "cannot begin to write" : "cannot begin to read", reterr);
        r = store_known(t, reterr);
        if (r != 0) {
                store_abort(TAKE_PTR(t));
                return r;
        }
        *ret = TAKE_PTR(t);
        return 0;
}

int store_begin(Store *s, bool write, Txn **ret, Diag *reterr) {
        if (write && s->mode == STORE_READ)
                return diag(reterr, STORE_E_READ_ONLY, "store %s: opened for reading only", s->dir);
        return begin(s, write, false, ret, reterr);
}

int store_begin_at_once(Store *s, Txn **ret, Diag *reterr) {
        return begin(s, false, true, ret, reterr);
}

/* The turn goes to the next writer while the batch takes more, else back to the leader. Returns true when it went to a writer. */
static bool pass_on(Txn *t) {
        Batch *b = t->batch;

        if (!b->broken && b->members < MEMBERS_MAX && ticket_pass(&t->store->turn))
                return true;
        if (!t->leads)
                flag_say(&b->closed);
        return false;
}

/* Whoever was told can go on, and nobody waits for more. */
static bool may_be_left(Store *s, const Batch *b) {
        return s->chain.n < s->keeps && b->n_plain == 0 && b->members <= LEFT_MEMBERS_MAX && wal_checkpoint_soon(s) == 0;
}

/* What all members did, with one signature, is written ahead, if it can be. sync: the disk has it, too. Returns 0 or -errno. */
static int write_ahead(Txn *t, Batch *b, bool sync) {
        int r = b->broken;

        b->what = "cannot commit";
        t->ledger = TAKE_PTR(b->ledger);
        if (r == 0 && t->ledger) {
                r = store_hooks.before_commit(t);
                if (r < 0)
                        b->what = "cannot sign the ledger";
        }
        if (r < 0) {
                store_write_abort(t->store, b->mdb);
                b->mdb = NULL;
                return r;
        }
        b->recorded = b->n_ahead > 0 && wal_write(t, &b->keys, sync) == 0;
        return 0;
}

/* The second half. r: of write_ahead(). */
static int keep_batch(Txn *t, Batch *b, int r) {
        if (r < 0)
                return r;
        if (!b->recorded || (t->started && wal_sync(t->store) < 0)) {
                b->recorded = false;
                wal_forget(t->store, b->mdb, true);
                return 0;
        }
        b->what = "cannot commit what is already kept for the next writer";
        b->left = may_be_left(t->store, b);
        if (!b->left)
                read_hold_up(t->store);
        if (b->n_ahead > (t->ahead ? 1 : 0))
                flag_say(&b->kept);
        return 0;
}

static int write_batch(Txn *t, Batch *b) {
        int r;

        datafile_grow(t->store);
        r = lmdb_commit(t->store, b->mdb);
        if (r == 0 && t->ledger)
                store_hooks.after_commit(t, b->brings);
        else if (r == 0 && b->brings && t->store->mode != STORE_READ)
                store_hooks.brought_in(t->store);
        if (r == 0)
                wal_checkpoint_done(t->store);
        if (r == 0 && b->brings && !b->recorded && t->store->mode != STORE_READ)
                wal_checkpoint_soon(t->store); /* the records before it are of the same transaction: they can be forgotten now that it is committed */
        if (++t->store->commits % CHECK_READERS == 0) {
                int dead;

                LMDB(mdb_reader_check(t->store->env, &dead));
        }
        return r;
}

/* The leader's last. r: of keep_batch(). */
static void end_batch(Txn *t, int r) {
        Batch *b = t->batch;
        Store *s = t->store;

        if (b->left)
                store_write_abort(s, b->mdb);
        else
                b->result = r < 0 ? r : write_batch(t, b);
        if (b->recorded && !b->left)
                read_let_go(s);
        s->batch = NULL;
        ticket_leave(&s->turn);
        if (!b->recorded && b->n_ahead > (t->ahead ? 1 : 0))
                flag_say(&b->kept);
        if (b->members > 1)
                flag_say(&b->done);
}

static void txn_free(Txn *t) {
        journal_free(t);
        if (t->kept)
                t->release(t->kept);
        if (t->ledger)
                store_hooks.ended(t);
        free(t);
}

/* Hands the ledger's state to the batch. */
static void hand_in(Txn *t) {
        Batch *b = t->batch;
        void *mine = TAKE_PTR(t->ledger);

        if (!mine)
                return;
        t->ledger = b->ledger;
        if (t->ledger)
                store_hooks.ended(t);
        t->ledger = NULL;
        b->ledger = mine;
}

/* t is in the batch. A leader returns when the batch is closed, a follower when it has the result. */
static void join_batch(Txn *t, bool ahead) {
        Batch *b = t->batch;

        hand_in(t);
        t->ahead = ahead && !t->slots;
        b->n_ahead += t->ahead;
        b->n_plain += !t->ahead;
        if (pass_on(t) || !t->leads)
                flag_wait(t->leads ? &b->closed : t->ahead ? &b->kept : &b->done);
}

bool store_commit_start(Txn *t) {
        Batch *b = t->batch;

        if (!t->leads || t->slots)
                return false;
        waited_begin();
        join_batch(t, true);
        t->start_result = write_ahead(t, b, false);
        waited_end();
        t->started = true;
        return b->recorded;
}

/* *ret_rest: t itself, when its second half is still to be done. */
static int commit_write(Txn *t, Txn **ret_rest, const char **ret_what) {
        Batch *b = t->batch;
        bool told, rest;
        int r = t->start_result;

        waited_begin();
        if (!t->started) {
                join_batch(t, ret_rest);
                r = t->leads ? write_ahead(t, b, true) : 0;
        }
        if (t->leads)
                r = keep_batch(t, b, r);
        rest = t->leads && b->recorded && !b->left && t->ahead;
        if (t->leads && !rest)
                end_batch(t, r);
        waited_end();
        if (rest) {
                rests++;
                *ret_rest = t;
                return 0;
        }
        told = t->ahead && b->recorded;
        r = told ? 0 : b->result;
        *ret_what = told ? NULL : b->what;
        batch_unref(b);
        return r;
}

int txn_bring_in(Store *s) {
        Txn *t = calloc(1, sizeof(*t));
        const char *what;
        int r;

        if (!t)
                return -ENOMEM;
        *t = (Txn){.store = s, .write = true};
        r = begin_write(t);
        if (r < 0)
                free(t);
        else if (t->leads && !t->batch->brings) {
                wal_forget(s, t->mdb, false);
                if (s->mode != STORE_READ)
                        store_hooks.brought_in(s);
                store_abort(t);
        } else {
                r = commit_write(t, NULL, &what);
                txn_free(t);
        }
        return r;
}

int store_commit(Txn *t, Diag *reterr) {
        const char *what = "cannot commit";
        Store *s = t->store;
        int r = t->write ? commit_write(t, NULL, &what) : lmdb_to_errno(LMDB(mdb_txn_commit(t->mdb)));

        txn_free(t);
        return store_refusal(s, r, what, reterr);
}

int store_commit_ahead(Txn *t, Txn **ret_rest, Diag *reterr) {
        const char *what = NULL;
        Store *s = t->store;
        int r;

        *ret_rest = NULL;
        r = commit_write(t, ret_rest, &what);
        if (!*ret_rest)
                txn_free(t);
        return store_refusal(s, r, what, reterr);
}

void store_commit_rest(Txn *rest) {
        if (!rest)
                return;
        rests--;
        waited_begin();
        end_batch(rest, 0);
        waited_end();
        batch_unref(rest->batch);
        txn_free(rest);
}

static void abort_write(Txn *t) {
        Store *s = t->store;
        Batch *b = t->batch;

        if (t->leads) {
                store_write_abort(s, b->mdb);
                s->batch = NULL;
                ticket_leave(&s->turn);
        } else {
                int r = b->broken ? 0 : journal_undo(t, NULL);

                if (r < 0)
                        b->broken = r;
                pass_on(t);
        }
        batch_unref(b);
}

void store_abort(Txn *t) {
        if (!t)
                return;
        if (t->write)
                abort_write(t);
        else
                LMDB((mdb_txn_abort(t->mdb), 0));
        txn_free(t);
}

int txn_result(Txn *t, int r) {
        r = store_true_error(t->store, r); /* many rows are written before their commit */
        switch (-r) {
        case 0:
        case ENOENT:
        case EEXIST:
        case EINVAL: /* a key or a value that no table takes */
                break;
        default:
                if (t->batch && !t->leads && t->batch->broken == 0)
                        t->batch->broken = r;
        }
        return r;
}

void txn_wrote(Txn *t, Table table, Bytes key) {
        t->slots |= table == TABLE_SLOT || table == TABLE_HIST || table == TABLE_HELD || table == TABLE_SKILL;
        if (t->store->wal_fd >= 0)
                wal_note(&t->batch->keys, table, key);
}

void *txn_ledger(const Txn *t) {
        return t->ledger;
}

const void *txn_ledger_before(const Txn *t) {
        return t->batch ? t->batch->ledger : NULL;
}

void txn_set_ledger(Txn *t, void *state) {
        t->ledger = state;
}

void *txn_kept(const Txn *t) {
        return t->kept;
}

void txn_keep(Txn *t, void *kept, void (*release)(void *kept)) {
        assert(!t->kept);
        t->kept = kept;
        t->release = release;
}

Store *txn_store(const Txn *t) {
        return t->store;
}

bool txn_writes(const Txn *t) {
        return t->write;
}
