/* Runs: lethe-serve. Rows that are due, and the transactions of cycles (O-10, O-43). A failing cycle holds back its own
 * object alone: after a failed transaction each object of the batch gets a transaction of its own. */
#include "serve/objects.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/path-lookup.h"
#include "ledger/ledger.h"
#include "perform/perform.h"

#include <errno.h>
#include <string.h>

#define PACE_USEC 5000          /* with rows in `due` or `wake` */
#define PACE_IDLE_USEC 50000    /* with objects that nothing can wake but a person */
#define PACE_NONE_USEC 500000   /* without objects */
#define PACE_TIMES 20           /* a look takes at most a twentieth of the time */
#define HOLD_USEC 1000000       /* after the first failure of an object */
#define HOLD_MOST_USEC 60000000

void objects_hold(Waker *w, const char *id, const char *why) {
        const json_t *had = json_object_get(w->held, id);
        uint64_t delay = had ? (uint64_t)json_integer_value(json_array_get(had, 1)) * 2 : HOLD_USEC, until;

        delay = MIN(delay, (uint64_t)HOLD_MOST_USEC);
        until = clock_mono_usec() + delay;
        if (why && !had) /* not at each try */
                log_warning("object %s: no cycle: %s", id, why);
        w->retry = MIN(w->retry, until);
        if (json_object_set_new(w->held, id, json_pack("[I, I]", (json_int_t)until, (json_int_t)delay)) < 0)
                log_error("objects: %s", strerror(ENOMEM));
}

/* places: free ones that this look may still give to waiting executions. */
static bool look_is_held(Waker *w, const char *id, uint64_t now, uint64_t *places) {
        const json_t *had = json_object_get(w->held, id);
        const uint64_t until = had ? (uint64_t)json_integer_value(json_array_get(had, 0)) : 0;

        if (until > now)
                w->retry = MIN(w->retry, until);
        if (until > now || (json_object_get(w->waiting, id) && *places == 0))
                return true;
        if (json_object_del(w->waiting, id) == 0)
                --*places;
        return false;
}

/* Held objects that are not due any more: ended, or continued by another process. */
static void look_forget_held(Waker *w, uint64_t now) {
        const char *id;
        json_t *had;
        void *next;

        json_object_foreach_safe(w->held, next, id, had)
                if ((uint64_t)json_integer_value(json_array_get(had, 0)) + HOLD_MOST_USEC < now)
                json_object_del(w->held, id);
}

static int look_pace(Waker *w, Txn *t) {
        uint64_t due = 0, wake = 0, objects = 0;
        int e = table_rows(t, TABLE_DUE, &due)
                        ?: table_rows(t, TABLE_WAKE, &wake)
                        ?: table_rows(t, TABLE_OBJECT, &objects);

        w->pace = due + wake > 0 ? PACE_USEC : objects > 0 ? PACE_IDLE_USEC : PACE_NONE_USEC;
        return e;
}

/* Finds up to OBJECTS_BATCH rows that are due and not held. Sets the time of the first later row. */
static int look_find(Waker *w, WakeDue ret[static OBJECTS_BATCH], size_t *ret_n) {
        const uint64_t now = clock_real_usec(), mono = clock_mono_usec();
        uint64_t places = objects_places(w);
        WakeDue rows[OBJECTS_BATCH], last = {};
        _cleanup_txn_ Txn *t = NULL;
        size_t n = OBJECTS_BATCH;
        bool any = false;
        Diag d = {};
        /* no wait for a commit: the tables have each wake-up when the writer gets the answer */
        int e = store_begin_at_once(w->server->store, &t, &d) ?: look_pace(w, t) ?: wake_next(t, &w->due_usec);

        *ret_n = 0;
        w->retry = UINT64_MAX;
        if (e != 0 || w->due_usec > now)
                return e;
        while (e == 0 && n == OBJECTS_BATCH && *ret_n < OBJECTS_BATCH) {
                e = wake_due(t, now, any ? &last : NULL, OBJECTS_BATCH, rows, &n);
                for (size_t i = 0; e == 0 && i < n && *ret_n < OBJECTS_BATCH; i++) {
                        last = rows[i];
                        any = true;
                        if (!look_is_held(w, last.object, mono, &places))
                                ret[(*ret_n)++] = last;
                }
        }
        w->due_usec = UINT64_MAX;
        if (e != 0 || *ret_n > 0)
                return e;
        if (places > 0) /* all rows were seen: no waiting object is due any more */
                json_object_clear(w->waiting);
        e = wake_due(t, UINT64_MAX - 1, any ? &last : NULL, 1, rows, &n);
        w->due_usec = e == 0 && n > 0 ? rows[0].usec : UINT64_MAX;
        return e;
}

/* A batch: the rows, and what the local policy says about each. */
typedef struct DueBatch {
        Waker *w;
        const WakeDue *rows;
        size_t n;
        json_t *locals[OBJECTS_BATCH]; /* owned; NULL: no cycle now */
        json_t *begun;  /* array of those with an execution */
} DueBatch;

/* Returns 0, or the failure of the store. */
static int look_judge(DueBatch *l, const Policy *p, Diag *reterr) {
        for (size_t i = 0; i < l->n; i++) {
                const char *id = l->rows[i].object;
                Diag d = {};
                int e;

                lookup_begin(); /* each object has its own time for names */
                e = perform_local(l->w->server->store, p, id, &l->locals[i], &d);
                if (e > PERFORM_E_STORE) {
                        *reterr = d;
                        return e - PERFORM_E_STORE;
                }
                if (e != 0)
                        objects_hold(l->w, id, *d.text ? d.text : store_strerror(e));
        }
        return 0;
}

/* A row that stays due without an action would make the waker spin. */
static int look_settle_none(DueBatch *l, Txn *t, const char *id, const json_t *done) {
        _cleanup_object_row_ ObjectRow row = {};
        Diag d = {};
        int e;

        if (json_text_is(json_object_get(done, "reason"), "later"))
                return json_object_set_new(l->w->waiting, id, json_true()) < 0 ? -ENOMEM : 0;
        e = object_get(t, id, &row, &d);
        if (e == 0 && row.due_usec <= clock_real_usec())
                objects_hold(l->w, id, NULL);
        return MIN(e, 0);
}

static int look_cycle(DueBatch *l, Txn *t, size_t i, Diag *reterr) {
        const uint64_t free = objects_places(l->w), taken = json_array_size(l->begun);
        const char *id = l->rows[i].object;
        _cleanup_json_ json_t *done = NULL;
        int e = perform_begin(t, id, l->locals[i], l->w->who, taken >= free, &done, reterr);

        if (e == ENGINE_E_CONFLICT) /* another process was faster; the next look reads the new row */
                return 0;
        if (e > 0) {
                objects_hold(l->w, id, reterr->text);
                *reterr = (Diag){};
        }
        if (e != 0)
                return MIN(e, 0);
        if (json_text_is(json_object_get(done, "action"), "none"))
                return look_settle_none(l, t, id, done);
        json_object_del(l->w->held, id);
        if (json_object_get(done, "perform") && json_array_append(l->begun, done) < 0)
                return -ENOMEM;
        return 0;
}

/* All cycles of the batch in one transaction, or in none: no execution runs before its `started` is durable. */
static int look_commit(DueBatch *l, size_t from, size_t n, Diag *reterr) {
        uint64_t before = 0, after = 0;
        _cleanup_txn_ Txn *t = NULL;
        int e;

        json_array_clear(l->begun);
        e = store_begin(l->w->server->store, true, &t, reterr) ?: ledger_state(t, &before, NULL);
        for (size_t i = from; e == 0 && i < from + n; i++)
                if (l->locals[i]) /* otherwise held */
                        e = look_cycle(l, t, i, reterr);
        e = e ?: ledger_state(t, &after, NULL);
        if (e == 0 && after > before) /* a commit without a change would wake the waker again */
                e = store_commit(TAKE_PTR(t), reterr);
        if (e == 0 && json_array_size(l->begun) > 0)
                objects_begin(l->w, l->begun);
        return e;
}

/* The store failed as a whole, and no single object. */
static bool look_is_of_store(int e) {
        return e == STORE_E_FULL || e == STORE_E_LOCKED || e == STORE_E_READ_ONLY || e == STORE_E_DAMAGED ||
               e == -ENOSPC || e == -EDQUOT || e == -ENOMEM || e == -EIO;
}

static void look_store_failed(Waker *w, int e, const Diag *d) {
        if (w->delay == 0 && !objects_over(w)) /* otherwise the daemon's end cut a wait short */
                log_error("objects wait: %s", *d->text ? d->text : store_strerror(e));
        w->delay = MIN(MAX(w->delay * 2, (uint64_t)HOLD_USEC), (uint64_t)HOLD_MOST_USEC);
        w->until = w->retry = clock_mono_usec() + w->delay;
        w->due_usec = UINT64_MAX;
}

static int look_perform(DueBatch *l, Diag *reterr) {
        int e = look_commit(l, 0, l->n, reterr);

        if (e == 0 || look_is_of_store(e) || l->n == 1)
                return e;
        for (size_t i = 0; i < l->n; i++) { /* a transaction each, so that the damaged object alone fails */
                Diag d = {};

                if (!l->locals[i])
                        continue;
                e = look_commit(l, i, 1, &d);
                if (e != 0 && look_is_of_store(e)) {
                        *reterr = d;
                        return e;
                }
                if (e != 0)
                        objects_hold(l->w, l->rows[i].object, *d.text ? d.text : store_strerror(e));
        }
        return 0;
}

bool objects_look(Waker *w) {
        WakeDue rows[OBJECTS_BATCH];
        DueBatch l = {.w = w, .rows = rows, .begun = json_array()};
        const uint64_t began = clock_mono_usec();
        SharedPolicy *p;
        Diag d = {};
        int e;

        w->looked = began;
        if (began < w->until) {
                w->retry = w->until;
                json_decref(l.begun);
                return false;
        }
        e = l.begun ? look_find(w, rows, &l.n) : -ENOMEM;
        if (json_object_size(w->held) > 0)
                look_forget_held(w, began);
        if (e == 0 && l.n > 0) {
                p = objects_policy_use(w->server);
                e = look_judge(&l, p->policy, &d) ?: look_perform(&l, &d);
                if (e != 0 && l.n == 1 && !look_is_of_store(e)) {
                        objects_hold(w, rows[0].object, *d.text ? d.text : store_strerror(e));
                        e = 0;
                }
                shared_policy_drop(p);
        }
        for (size_t i = 0; i < l.n; i++)
                json_decref(l.locals[i]);
        json_decref(l.begun);
        w->looked = clock_mono_usec();
        if (l.n == 0)
                w->pace = MAX(w->pace, (w->looked - began) * PACE_TIMES);
        if (e != 0)
                look_store_failed(w, e, &d);
        else
                w->delay = 0;
        return e == 0 && l.n > 0;
}
