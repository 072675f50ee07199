/* Group commit. Concurrent writers of one process share one LMDB transaction, a batch: one signature and one pair of
 * flushes for all.
 *
 *   begin:   wait for the ticket; without an open batch, open one as its leader, else join as a follower
 *   commit:  pass the ticket on. The leader sleeps until the queue is empty or the batch is full, then commits and
 *            wakes all members. (LMDB's lock belongs to the thread that took the lock: so the leader commits.)
 *   abort:   a follower undoes its own changes; a leader, always the first writer, aborts the whole transaction
 *
 * A single writer is a leader without followers and never waits. During the commit of a batch, new writers wait for the
 * ticket and form the next batch. The ledger's state goes from member to member with the batch (hooks.h).
 *
 * Members in a hurry (store_commit_ahead()) are answered when the log has the batch's record, the others after LMDB's
 * commit, right after. A leader in a hurry does LMDB's commit after its urgent work.
 *
 * Where some records may be left (store_keep_ahead()), a batch of members in a hurry has no commit of its own: its
 * transaction is aborted, and each later batch begins with the records, until one batch commits all. */
#include "store/journal.h"
#include "store/wal.h"
#include "store/store-internal.h"
#include "store/blocked-time.h"

#include <errno.h>
#include <sys/statvfs.h>

#define CHECK_READERS 256 /* commits: a killed reader holds its snapshot, and the file grows until the check */
#define MEMBERS_MAX 256 /* of one batch: a bound for the wait of the first */
#define LEFT_MEMBERS_MAX 32 /* a larger batch has shared its flushes already */

struct TxnBatch {
        MDB_txn *mdb;
        void *ledger;     /* state of the members so far */
        unsigned members; /* joined, aborted members included */
        int broken;       /* LMDB failed within a member's work: the batch cannot be committed */
        WalKeys keys;    /* of written rows */
        unsigned n_ahead; /* members answered ahead */
        unsigned n_plain; /* other committed members */
        bool brings;      /* includes left records */
        bool recorded;    /* in the log */
        bool left;        /* in the log alone, until a checkpoint */
        Flag closed;      /* the leader has the ticket again */
        Flag kept;        /* for members answered ahead */
        Flag done;
        int result;       /* set when done: 0 or -errno */
        const char *what; /* the words for it */
        _Atomic unsigned users;
};

/* Between store_commit_ahead() and store_commit_rest() a store_begin() would wait for its own thread. */
static _Thread_local unsigned rests;

static void batch_free(TxnBatch *b) {
        wal_keys_deinit(&b->keys);
        free(b);
}

static void batch_unref(TxnBatch *b) {
        if (atomic_fetch_sub_explicit(&b->users, 1, memory_order_acq_rel) == 1)
                batch_free(b);
}

/* An EIO of LMDB after a short write means a full disk. */
static int txn_true_error(const Store *s, int r) {
        struct statvfs st;
        bool full = r == -EIO && fstatvfs(s->dir_fd, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < 256 * 1024;

        return full ? -ENOSPC : r;
}

static int txn_lmdb_commit(Store *s, MDB_txn *t) {
        return txn_true_error(s, store_write_commit(s, t));
}

/* Takes LMDB's lock. Left records are the first write, with their own transaction number. When more records may be
 * left, the caller's batch commits the left records, too. */
static int txn_lmdb_begin(Store *s, MDB_txn **ret) {
        for (size_t last = 0;;) {
                uint64_t number;
                bool looked;
                MDB_txn *t;
                int r = store_write_begin(s, &t);

                if (r < 0)
                        return r;
                s->chain = (WalChain){0};
                r = page_check_before_write(s, mdb_txn_id(t) - 1);
                if (r < 0) {
                        store_write_abort(s, t);
                        return r;
                }
                number = wal_number(s);
                looked = number == mdb_txn_id(t) || number == WAL_NUMBER_DAMAGED;
                r = looked ? wal_is_left(s, t, mdb_txn_id(t)) : 0;
                if (r > 0) /* another process may have left more records, but never again of the same transaction */
                        r = last == mdb_txn_id(t) ? -EUCLEAN : wal_apply(s, t);
                if (r == 0 && looked)
                        wal_say_broken(s, wal_broken(s, t, mdb_txn_id(t)));
                last = mdb_txn_id(t);
                if (r == 0 && (s->chain.n == 0 || s->chain.n < s->keeps)) {
                        *ret = t;
                        return 0;
                }
                if (r < 0) {
                        store_write_abort(s, t);
                        return r;
                }
                r = txn_lmdb_commit(s, t);
                if (r < 0)
                        return r;
        }
}

static int batch_open(Store *s) {
        TxnBatch *b = calloc(1, sizeof(*b));
        int r;

        if (!b)
                return -ENOMEM;
        r = txn_lmdb_begin(s, &b->mdb);
        if (r < 0) {
                batch_free(b);
                return r;
        }
        b->brings = s->chain.n > 0;
        s->batch = b;
        return 0;
}

static int txn_begin_write(Txn *t) {
        Store *s = t->store;
        int r = 0;

        blocked_begin();
        ticket_take(&s->ticket);
        t->leads = !s->batch;
        if (t->leads)
                r = batch_open(s);
        blocked_end();
        if (r < 0) {
                ticket_leave(&s->ticket);
                return r;
        }
        t->batch = s->batch;
        t->mdb = t->batch->mdb;
        t->batch->members++;
        atomic_fetch_add_explicit(&t->batch->users, 1, memory_order_relaxed);
        return 0;
}

/* A newer Lethe may have converted the open store. 0, or STORE_E_VERSION with a message. */
static int txn_check_version(Txn *t, Diag *reterr) {
        MDB_val k = {7, "version"}, v;
        int r = txn_result(t, lmdb_to_errno(LMDB(mdb_get(t->mdb, t->store->dbi[TABLE_META], &k, &v))));

        if (r < 0 || v.mv_size != 8 || be64_get(v.mv_data) <= STORE_VERSION) /* a reader of a damaged row reports it */
                return 0;
        return diag(reterr, STORE_E_VERSION, "store %s: made by a newer Lethe (version %llu, this one knows %d)",
                    t->store->dir, (unsigned long long)be64_get(v.mv_data), STORE_VERSION);
}

static int txn_begin(Store *s, bool write, bool at_once, Txn **ret, Diag *reterr) {
        _cleanup_free_ Txn *t = calloc(1, sizeof(*t));
        int r;

        assert(rests == 0);
        if (!t)
                return -ENOMEM;
        t->store = s;
        t->write = write;
        r = write ? txn_begin_write(t) : read_begin(t, at_once);
        if (r < 0)
                return store_refusal(s, r, write ? "cannot begin to write" : "cannot begin to read", reterr);
        r = txn_check_version(t, reterr);
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
        return txn_begin(s, write, false, ret, reterr);
}

int store_begin_at_once(Store *s, Txn **ret, Diag *reterr) {
        return txn_begin(s, false, true, ret, reterr);
}

/* The ticket goes to the next writer while the batch has room, else back to the leader. Returns true for a writer. */
static bool txn_pass_on(Txn *t) {
        TxnBatch *b = t->batch;

        if (!b->broken && b->members < MEMBERS_MAX && ticket_pass(&t->store->ticket))
                return true;
        if (!t->leads)
                flag_say(&b->closed);
        return false;
}

/* All members have their answer, and the queue is empty. */
static bool batch_may_be_left(Store *s, const TxnBatch *b) {
        return s->chain.n < s->keeps && b->n_plain == 0 && b->members <= LEFT_MEMBERS_MAX &&
               wal_checkpoint_soon(s) == 0;
}

/* Signs for all members and writes the record. sync: the disk has it, too. Returns 0 or -errno. */
static int batch_write(Txn *t, TxnBatch *b, bool sync) {
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

/* Answers the members ahead, once the disk has the record. r: of batch_write(). */
static int batch_record(Txn *t, TxnBatch *b, int r) {
        if (r < 0)
                return r;
        if (!b->recorded || (t->started && wal_sync(t->store) < 0)) {
                b->recorded = false;
                wal_forget(t->store, b->mdb, true);
                return 0;
        }
        b->what = "cannot commit changes that are already kept for the next writer";
        b->left = batch_may_be_left(t->store, b);
        if (!b->left)
                read_hold_up(t->store);
        if (b->n_ahead > (t->ahead ? 1 : 0))
                flag_say(&b->kept);
        return 0;
}

static int batch_commit(Txn *t, TxnBatch *b) {
        int r;

        datafile_grow(t->store);
        r = txn_lmdb_commit(t->store, b->mdb);
        if (r == 0 && t->ledger)
                store_hooks.after_commit(t, b->brings);
        else if (r == 0 && b->brings && t->store->mode != STORE_READ)
                store_hooks.brought_in(t->store);
        if (r == 0)
                wal_checkpoint_done(t->store);
        if (r == 0 && b->brings && !b->recorded && t->store->mode != STORE_READ)
                wal_checkpoint_soon(t->store); /* the earlier records are committed, too: wipe them soon */
        if (++t->store->commits % CHECK_READERS == 0) {
                int dead;

                LMDB(mdb_reader_check(t->store->env, &dead));
        }
        return r;
}

/* The end of the leader's work. r: of batch_record(). */
static void batch_end(Txn *t, int r) {
        TxnBatch *b = t->batch;
        Store *s = t->store;

        if (b->left)
                store_write_abort(s, b->mdb);
        else
                b->result = r < 0 ? r : batch_commit(t, b);
        if (b->recorded && !b->left)
                read_let_go(s);
        s->batch = NULL;
        ticket_leave(&s->ticket);
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
static void txn_hand_in(Txn *t) {
        TxnBatch *b = t->batch;
        void *mine = TAKE_PTR(t->ledger);

        if (!mine)
                return;
        t->ledger = b->ledger;
        if (t->ledger)
                store_hooks.ended(t);
        t->ledger = NULL;
        b->ledger = mine;
}

/* Joins the batch. A leader returns when the batch is closed, a follower when its result is known. */
static void txn_join(Txn *t, bool ahead) {
        TxnBatch *b = t->batch;

        txn_hand_in(t);
        journal_end(t);
        t->ahead = ahead && !t->slots;
        b->n_ahead += t->ahead;
        b->n_plain += !t->ahead;
        if (txn_pass_on(t) || !t->leads)
                flag_wait(t->leads ? &b->closed : t->ahead ? &b->kept : &b->done);
}

bool store_commit_start(Txn *t) {
        TxnBatch *b = t->batch;

        if (!t->leads || t->slots)
                return false;
        blocked_begin();
        txn_join(t, true);
        t->start_result = batch_write(t, b, false);
        blocked_end();
        t->started = true;
        return b->recorded;
}

/* *ret_rest: t itself, when LMDB's commit is still to be done. */
static int txn_commit_write(Txn *t, Txn **ret_rest, const char **ret_what) {
        TxnBatch *b = t->batch;
        bool told, rest;
        int r = t->start_result;

        blocked_begin();
        if (!t->started) {
                txn_join(t, ret_rest);
                r = t->leads ? batch_write(t, b, true) : 0;
        }
        if (t->leads)
                r = batch_record(t, b, r);
        rest = t->leads && b->recorded && !b->left && t->ahead;
        if (t->leads && !rest)
                batch_end(t, r);
        blocked_end();
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
        r = txn_begin_write(t);
        if (r < 0)
                free(t);
        else if (t->leads && !t->batch->brings) {
                wal_forget(s, t->mdb, false);
                if (s->mode != STORE_READ)
                        store_hooks.brought_in(s);
                store_abort(t);
        } else {
                r = txn_commit_write(t, NULL, &what);
                txn_free(t);
        }
        return r;
}

int store_commit(Txn *t, Diag *reterr) {
        const char *what = "cannot commit";
        Store *s = t->store;
        int r = t->write ? txn_commit_write(t, NULL, &what) : lmdb_to_errno(LMDB(mdb_txn_commit(t->mdb)));

        txn_free(t);
        return store_refusal(s, r, what, reterr);
}

int store_commit_ahead(Txn *t, Txn **ret_rest, Diag *reterr) {
        const char *what = NULL;
        Store *s = t->store;
        int r;

        *ret_rest = NULL;
        r = txn_commit_write(t, ret_rest, &what);
        if (!*ret_rest)
                txn_free(t);
        return store_refusal(s, r, what, reterr);
}

void store_commit_rest(Txn *rest) {
        if (!rest)
                return;
        rests--;
        blocked_begin();
        batch_end(rest, 0);
        blocked_end();
        batch_unref(rest->batch);
        txn_free(rest);
}

static void txn_abort_write(Txn *t) {
        Store *s = t->store;
        TxnBatch *b = t->batch;

        if (t->leads) {
                store_write_abort(s, b->mdb);
                s->batch = NULL;
                ticket_leave(&s->ticket);
        } else {
                int r = b->broken ? 0 : journal_undo(t, NULL);

                if (r < 0)
                        b->broken = r;
                journal_end(t);
                txn_pass_on(t);
        }
        batch_unref(b);
}

void store_abort(Txn *t) {
        if (!t)
                return;
        if (t->write)
                txn_abort_write(t);
        else
                LMDB((mdb_txn_abort(t->mdb), 0));
        txn_free(t);
}

int txn_result(Txn *t, int r) {
        r = txn_true_error(t->store, r); /* many rows are written before their commit */
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
