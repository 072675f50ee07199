#include "belief/concern.h"
#include "belief/promote.h"
#include "belief/touched.h"

#include "record/event.h"
#include "engine/fold.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What the queue kept, as belief_apply() takes it: everything in `body` is borrowed by the rest. */
typedef struct SpawnCache {
        json_t *entry, *body;
        BeliefRequest request;
        char scope_name[SCOPE_NAME_MAX];
} SpawnCache;

static void kept_deinit(SpawnCache *k) {
        belief_request_deinit(&k->request);
        json_decref(k->body);
        json_decref(k->entry);
        *k = (SpawnCache){0};
}

static int read_kept(Txn *t, const Wait *w, SpawnCache *ret) {
        int r = record_body(t, w->id, &ret->body);

        if (r == 0)
                r = belief_request_read(json_object_get(ret->body, "request"), &ret->request, NULL);
        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

/* What else it takes to apply it; of those that are only looked at nobody asks. */
static int read_origin(Txn *t, const Wait *w, SpawnCache *ret) {
        int r = event_get(t, w->id, &ret->entry);

        if (r == 0)
                r = scope_name_of(t, w->scope, ret->scope_name);
        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

static Asked asked_of(const SpawnCache *k) {
        const json_t *note = json_object_get(k->body, "note");

        return asked_by(&k->request, json_bytes(note), json_string_length(note));
}

static int apply_again(Txn *t, Bucket *b, const Wait *w, SpawnCache *k, const char *target, const Trying *by, Applied *ret) {
        const json_t *note = json_object_get(k->body, "note");
        const KeySet *keys = key_hold(by->keys); /* a region that was not there when the item began to wait may live now (I-11) */
        int r;

        r = belief_apply(t,
                        &(Applying){.scope = w->scope, .scope_name = k->scope_name, .request = &k->request, .note = json_bytes(note),
                                    .n_note = json_string_length(note), .agent = json_text(json_object_get(k->entry, "agent")),
                                    .run = json_text(json_object_get(k->entry, "run")), .pending = w->id,
                                    .waits_for = json_text(json_object_get(k->entry, "reason")), .target = target, .bucket = b, .policy = by->policy, .who = by->who, .region = by->region, .keys = keys},
                        ret);
        key_let_go(by->keys, &keys);
        return r;
}

static int try_again(Txn *t, Bucket *b, const Wait *w, const char *target, const Trying *by, Applied *ret) {
        _cleanup_(kept_deinit) SpawnCache k = {0};
        int r = read_kept(t, w, &k);

        if (r == 0)
                r = read_origin(t, w, &k);
        return r < 0 ? r : apply_again(t, b, w, &k, target, by, ret);
}

/* A row that was committed, and what it was. */
typedef struct Root {
        char id[RECORD_ID_MAX];
        BucketRow *was; /* owned, or NULL */
} Root;

typedef struct Settling {
        Bucket *bucket;
        const Trying *by;
        Root queue[SETTLE_ATTEMPTS_MAX + 1]; /* each attempt adds one at most */
        uint64_t failed[SETTLE_ATTEMPTS_MAX];
        size_t n_queue, n_tried, n_failed, n_resolved;
} Settling;

static void settling_deinit(Settling *s) {
        for (size_t i = 0; i < s->n_queue; i++)
                bucket_row_free(s->queue[i].was);
}

static void enqueue(Settling *s, Applied *done) {
        Root *to = &s->queue[s->n_queue++];

        strcpy(to->id, done->id);
        to->was = TAKE_PTR(done->was);
}

/* What was resolved after all has not failed. */
static void forget(Settling *s, uint64_t id) {
        size_t kept = 0;

        for (size_t i = 0; i < s->n_failed; i++)
                if (s->failed[i] != id)
                        s->failed[kept++] = s->failed[i];
        s->n_failed = kept;
}

/* Is it concerned? What cannot be read is not, and stops nobody's commit: lethe pending retry tells of it. */
static int concerned(Settling *s, const Root *root, const Wait *w, SpawnCache *k) {
        int r = read_kept(s->bucket->txn, w, k);

        if (r == 0) {
                Asked asked = asked_of(k);

                r = concern_row(s->bucket, root->id, root->was, &asked, json_object_get(k->body, "candidates"), s->by->policy);
        }
        return r;
}

/* One that the row touched. An attempt counts when it was held against all rows, and when it may have been about this one: not when it was held back. */
static int settle_one(Txn *t, Settling *s, const Root *root, uint64_t id, bool had) {
        _cleanup_(kept_deinit) SpawnCache k = {0};
        _cleanup_applied_ Applied done = {0};
        Wait w;
        int r = wait_get(t, id, &w);

        if (r == 0 && w.state != WAIT_OPEN)
                return 0;
        if (r == 0)
                r = concerned(s, root, &w, &k);
        if (r > 0) {
                int e = read_origin(t, &w, &k);

                r = e < 0 ? e : r;
        }
        if (r < 0 || (r == 0 && !had))
                return r == -EUCLEAN ? 0 : r;
        if (r > 0)
                r = apply_again(t, s->bucket, &w, &k, NULL, s->by, &done);
        else
                done.outcome = NOTE_PENDING;
        if (r < 0 || done.held_back)
                return r;
        s->n_tried++; /* one that failed is tried again after another row's commit: that may be what it waited for */
        if (done.outcome == NOTE_COMMITTED && done.applied) {
                s->n_resolved++;
                forget(s, id);
                enqueue(s, &done);
        } else if (done.outcome != NOTE_COMMITTED)
                s->failed[s->n_failed++] = id;
        return 0;
}

int belief_settle(Txn *t, Bucket *b, Applied *root, const Trying *by, uint64_t *ret_resolved) {
        _cleanup_(settling_deinit) Settling s = {.bucket = b, .by = by};
        int r = wait_any(t, b->scope, b->kind);

        *ret_resolved = 0;
        if (r <= 0)
                return r;
        enqueue(&s, root);
        r = 0;
        for (size_t q = 0; r == 0 && q < s.n_queue && s.n_tried < SETTLE_ATTEMPTS_MAX; q++) {
                Touched touched;

                r = touched_find(b, s.queue[q].id, s.queue[q].was, by->policy, &touched);
                if (r == -EUCLEAN) {
                        r = 0;
                        continue;
                }
                for (size_t i = 0; r == 0 && i < touched.n && s.n_tried < SETTLE_ATTEMPTS_MAX; i++)
                        r = settle_one(t, &s, &s.queue[q], touched.ids[i], touched.had[i]);
        }
        if (r == 0 && s.n_failed > 0)
                r = engine_wait_failed(t, by->who, by->region, s.failed, s.n_failed, root->seq);
        *ret_resolved = s.n_resolved;
        return r == -ENOENT ? -EUCLEAN : r;
}

#define RETRY_ROWS_MOST 4096

/* One of them, or it is damaged: nobody can say what it is about. */
static int retry_one(Txn *t, Bucket *b, const Wait *w, const Trying *by, Retried *c) {
        _cleanup_applied_ Applied done = {0};
        _cleanup_(kept_deinit) SpawnCache k = {0};
        uint64_t more;
        int r = read_kept(t, w, &k);

        if (r == 0)
                r = read_origin(t, w, &k);
        if (r == -EUCLEAN) {
                c->damaged++;
                return 0;
        }
        if (b->scope != w->scope || b->kind != w->kind || b->n > RETRY_ROWS_MOST) {
                bucket_deinit(b);
                *b = bucket_of(t, w->scope, w->kind);
        }
        if (r == 0)
                r = apply_again(t, b, w, &k, NULL, by, &done);
        if (r == 0 && done.outcome == NOTE_COMMITTED && done.applied) {
                r = belief_settle(t, b, &done, by, &more);
                c->resolved += 1 + more;
        } else if (r == 0 && done.outcome != NOTE_COMMITTED && !done.held_back)
                r = engine_wait_failed(t, by->who, by->region, &w->id, 1, 0);
        c->tried += !done.held_back;
        c->damaged += done.damaged;
        return r;
}

int belief_retry(Txn *t, uint64_t scope, uint64_t most, const Trying *by, Retried *ret, Diag *reterr) {
        _cleanup_bucket_ Bucket b = {0};
        uint64_t from = 0;
        Retried c = {0};
        int r = engine_index_need(t, reterr);

        if (r != 0)
                return r;
        while (most == 0 || c.tried < most) {
                Wait w = {0};

                r = wait_next(t, from, scope, WAIT_OPEN, &w);
                if (r == -EUCLEAN && w.id >= from && w.id > 0) {
                        c.damaged++;
                        r = 0;
                } else if (r == 0)
                        r = retry_one(t, &b, &w, by, &c);
                if (r < 0)
                        break;
                from = w.id + 1;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = c;
        return ledger_want_anchor(t);
}

int belief_bind(Txn *t, uint64_t pending, const char *target, const Trying *by, Applied *ret, Diag *reterr) {
        _cleanup_bucket_ Bucket b = {0};
        char shown[128];
        uint64_t more;
        Wait w;
        int r = wait_get(t, pending, &w);

        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, pending);
        if (r < 0)
                return r;
        if (w.state != WAIT_OPEN && w.state != WAIT_STUCK)
                return diag(reterr, ENGINE_E_BAD_STATE, "pending item %" PRIu64 " is %s", pending, wait_state_name(w.state));
        r = engine_index_need(t, reterr);
        if (r != 0)
                return r;
        if (!record_id_valid(w.kind, target))
                return diag(reterr, ENGINE_E_BAD_NAME, "target \"%s\" is not an id of %s: %s", diag_quote(target, strlen(target), shown, sizeof(shown)),
                            kind_name(w.kind), record_id_rule(w.kind));
        b = bucket_of(t, w.scope, w.kind);
        r = try_again(t, &b, &w, target, by, ret);
        if (r == 0 && ret->outcome == NOTE_COMMITTED && ret->applied)
                r = belief_settle(t, &b, ret, by, &more);
        bucket_row_free(TAKE_PTR(ret->was));
        return r == 0 ? ledger_want_anchor(t) : r;
}
