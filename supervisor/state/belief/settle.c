#include "belief/settle.h"

#include "belief/concern.h"
#include "belief/row-write.h"
#include "belief/touched.h"
#include "record/event.h"
#include "engine/fold.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A pending item in the form of belief_apply(). request borrows from body. */
typedef struct PendingItem {
        json_t *entry, *body;
        BeliefRequest request;
        char scope_name[SCOPE_NAME_MAX];
} PendingItem;

static void settle_item_deinit(PendingItem *k) {
        belief_request_deinit(&k->request);
        json_decref(k->body);
        json_decref(k->entry);
        *k = (PendingItem){0};
}

static int settle_read_item(Txn *t, const Wait *w, PendingItem *ret) {
        int r = record_body(t, w->id, &ret->body)
                ?: belief_request_read(json_object_get(ret->body, "request"), &ret->request, NULL);

        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

/* The rest of the item, needed to apply the request but not to look at the item. */
static int settle_read_origin(Txn *t, const Wait *w, PendingItem *ret) {
        int r = event_get(t, w->id, &ret->entry) ?: scope_name_of(t, w->scope, ret->scope_name);

        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

/* Did an advisor make the request? The name of the advisor is the advisor's own choice, the answers are not. */
static bool settle_is_advised(const json_t *body) {
        const json_t *by = json_object_get(body, "interpreted");

        return json_object_get(by, "raw") && !json_is_true(json_object_get(by, "degraded"));
}

static int settle_apply(Txn *t, Bucket *b, const Wait *w, PendingItem *k, const char *target, bool look,
                        const Trying *by, Applied *ret) {
        const json_t *note = json_object_get(k->body, "note");

        return belief_apply(t,
                            &(Applying){.scope = w->scope, .scope_name = k->scope_name, .request = &k->request,
                                        .note = json_bytes(note), .n_note = json_string_length(note),
                                        .agent = json_text(json_object_get(k->entry, "agent")),
                                        .run = json_text(json_object_get(k->entry, "run")), .pending = w->id,
                                        .waits_for = json_text(json_object_get(k->entry, "reason")), .target = target,
                                        .look = look, .advised = settle_is_advised(k->body), .bucket = b,
                                        .from_tool = json_text_is(json_object_get(k->body, "role"), APPLY_ROLE_TOOL),
                                        .by = by},
                            ret);
}

/* A committed row, and its previous content. */
typedef struct SettleRoot {
        char id[RECORD_ID_MAX];
        BucketRow *was; /* owned, or NULL */
} SettleRoot;

typedef struct Settling {
        Bucket *bucket;
        const Trying *by;
        SettleRoot queue[SETTLE_ATTEMPTS_MAX + 1]; /* each attempt adds at most one row */
        uint64_t failed[SETTLE_ATTEMPTS_MAX];
        size_t n_queue, n_tried, n_failed, n_resolved;
        const Touched *touched; /* borrowed: by the present row */
        bool vain[WAIT_HAVING_MOST + TOUCHED_SHARING_MOST]; /* by item of `touched`: tried, and waits on */
} Settling;

static void settle_deinit(Settling *s) {
        for (size_t i = 0; i < s->n_queue; i++)
                bucket_row_free(s->queue[i].was);
}

static void settle_enqueue(Settling *s, Applied *done) {
        SettleRoot *to = &s->queue[s->n_queue++];

        strcpy(to->id, done->id);
        to->was = TAKE_PTR(done->was);
}

/* An item that was resolved in the end has not failed. */
static void settle_forget(Settling *s, uint64_t id) {
        size_t kept = 0;

        for (size_t i = 0; i < s->n_failed; i++)
                if (s->failed[i] != id)
                        s->failed[kept++] = s->failed[i];
        s->n_failed = kept;
}

/* Tells whether the row concerns the item. An unreadable item does not count: `lethe pending retry` reports the
 * damage. */
static int settle_concerns(Settling *s, const SettleRoot *root, const Wait *w, PendingItem *k) {
        int r = settle_read_item(s->bucket->txn, w, k);
        const json_t *note = json_object_get(k->body, "note");
        ResolveQuestion asked = asked_by(&k->request, json_bytes(note), json_string_length(note));

        return r < 0 ? r
                     : concern_row(s->bucket, root->id, root->was, &asked, json_object_get(k->body, "candidates"),
                                   s->by->policy);
}

/* Items that share the same terms with the row are mostly alike: after a few that wait on, the next wait on as well.
 * A later commit tries them when the first are decided, or stuck. */
static bool settle_is_vain(const Settling *s, size_t i) {
        size_t n = 0;

        for (size_t k = 0; k < i; k++)
                n += s->vain[k] && s->touched->terms[k] == s->touched->terms[i];
        return s->touched->terms[i] && n >= SETTLE_ALIKE_MOST;
}

/* Tries an item that the row touched, unless the item is overdue. The attempt counts when all rows were compared, or
 * when the item had the row as a candidate; an attempt that was held back does not count. */
static int settle_one(Txn *t, Settling *s, const SettleRoot *root, size_t i) {
        uint64_t id = s->touched->ids[i];
        _cleanup_(settle_item_deinit) PendingItem k = {0};
        _cleanup_applied_ Applied done = {0};
        Wait w;
        int r = wait_get(t, id, &w);

        if (r == 0 && w.state != WAIT_OPEN)
                return 0;
        if (r == 0)
                r = wait_overdue(t, &w, s->by->limits);
        if (r > 0)
                return 0;
        if (r == 0)
                r = settle_concerns(s, root, &w, &k);
        if (r > 0) {
                int e = settle_read_origin(t, &w, &k);

                r = e < 0 ? e : r;
        }
        if (r < 0 || (r == 0 && !s->touched->had[i]))
                return r == -EUCLEAN ? 0 : r;
        if (r > 0)
                r = settle_apply(t, s->bucket, &w, &k, NULL, false, s->by, &done);
        else
                done.outcome = NOTE_PENDING;
        if (r < 0 || done.held_back)
                return r;
        s->n_tried++; /* a failed item is tried again after the commit of another row, which may be the missing row */
        if (done.outcome == NOTE_COMMITTED && done.applied) {
                s->n_resolved++;
                settle_forget(s, id);
                settle_enqueue(s, &done);
        } else if (done.outcome != NOTE_COMMITTED) {
                s->failed[s->n_failed++] = id;
                s->vain[i] = true;
        }
        return 0;
}

int belief_settle(Txn *t, Bucket *b, Applied *root, const Trying *by, uint64_t *ret_resolved) {
        _cleanup_(settle_deinit) Settling s = {.bucket = b, .by = by};
        int r = wait_any(t, b->scope, b->kind);

        *ret_resolved = 0;
        if (r <= 0)
                return r;
        settle_enqueue(&s, root);
        r = 0;
        for (size_t q = 0; r == 0 && q < s.n_queue && s.n_tried < SETTLE_ATTEMPTS_MAX; q++) {
                Touched touched;

                r = touched_find(b, s.queue[q].id, s.queue[q].was, by->policy, &touched);
                if (r == -EUCLEAN) {
                        r = 0;
                        continue;
                }
                s.touched = &touched;
                memset(s.vain, 0, sizeof(s.vain));
                for (size_t i = 0; r == 0 && i < touched.n && s.n_tried < SETTLE_ATTEMPTS_MAX; i++)
                        r = settle_is_vain(&s, i) ? 0 : settle_one(t, &s, &s.queue[q], i);
        }
        if (r == 0 && s.n_failed > 0)
                r = engine_wait_failed(t, by->who, by->region, s.failed, s.n_failed, root->seq);
        *ret_resolved = s.n_resolved;
        return r == -ENOENT ? -EUCLEAN : r;
}

#define RETRY_ROWS_MOST 4096
#define REASON_READY "ready"
#define REASON_OVERDUE "overdue"

/* The bucket of an item. A bucket with many rows in memory is given up. */
static void settle_turn_to(Txn *t, Bucket *b, const Wait *w) {
        if (b->scope == w->scope && b->kind == w->kind && b->n <= RETRY_ROWS_MOST)
                return;
        bucket_deinit(b);
        *b = bucket_of(t, w->scope, w->kind);
}

/* Tries a single item. A damaged item is counted, because its subject is unknown. */
static int settle_retry_one(Txn *t, Bucket *b, const Wait *w, const Trying *by, Retried *c) {
        _cleanup_applied_ Applied done = {0};
        _cleanup_(settle_item_deinit) PendingItem k = {0};
        uint64_t more;
        int r = settle_read_item(t, w, &k) ?: settle_read_origin(t, w, &k) ?: wait_overdue(t, w, by->limits);

        if (r > 0) /* since a commit of this retry */
                return 0;
        if (r == -EUCLEAN) {
                c->damaged++;
                return 0;
        }
        settle_turn_to(t, b, w);
        if (r == 0)
                r = settle_apply(t, b, w, &k, NULL, false, by, &done);
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

        if (r == 0)
                r = engine_wait_expire_all(t, by->who, scope, by->limits, &c.expired);
        if (r != 0)
                return r;
        while (most == 0 || c.tried < most) {
                Wait w = {0};

                r = wait_next(t, from, scope, WAIT_OPEN, &w);
                if (r == -EUCLEAN && w.id >= from && w.id > 0) {
                        c.damaged++;
                        r = 0;
                } else if (r == 0)
                        r = settle_retry_one(t, &b, &w, by, &c);
                if (r < 0)
                        break;
                from = w.id + 1;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = c;
        return ledger_want_anchor(t);
}

int belief_look(Txn *t, Bucket *b, const Wait *w, const Trying *by, json_t **ret) {
        _cleanup_(settle_item_deinit) PendingItem k = {0};
        _cleanup_applied_ Applied now = {0};
        _cleanup_json_ json_t *candidates = json_array(), *o = NULL;
        const json_t *all;
        int overdue, r = settle_read_item(t, w, &k) ?: settle_read_origin(t, w, &k);

        if (r < 0)
                return r;
        overdue = wait_overdue(t, w, by->limits);
        if (overdue < 0)
                return overdue;
        settle_turn_to(t, b, w);
        r = settle_apply(t, b, w, &k, NULL, true, by, &now);
        if (r < 0)
                return r;
        all = json_object_get(now.source_ref, "candidate_matches");
        for (size_t i = 0; candidates && i < MIN(json_array_size(all), (size_t)LOOK_CANDIDATES); i++)
                if (json_array_append(candidates, json_array_get(all, i)) < 0)
                        return -ENOMEM;
        o = json_pack("{s:s, s:O}", "reason",
                      overdue                         ? REASON_OVERDUE
                      : now.outcome == NOTE_COMMITTED ? REASON_READY
                                                      : now.code,
                      "candidates", candidates);
        if (!o || (*now.why.text && json_put(o, "message", json_string(now.why.text)) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

/* Returns 0, ENGINE_E_BAD_STATE with a message, -errno. */
static int settle_refuse_overdue(Txn *t, const Wait *w, const Trying *by, Diag *reterr) {
        int limit = wait_overdue(t, w, by->limits);

        return limit <= 0 ? limit
                          : diag(reterr, ENGINE_E_BAD_STATE,
                                 "pending item %" PRIu64 " is overdue: beyond the policy's limit pending.%s, and never "
                                 "applied; fix: write the note again",
                                 w->id, wait_limit_name((WaitLimit)limit));
}

int belief_bind(Txn *t, uint64_t pending, const char *target, const Trying *by, Applied *ret, Diag *reterr) {
        _cleanup_(settle_item_deinit) PendingItem k = {0};
        _cleanup_bucket_ Bucket b = {0};
        uint64_t more;
        size_t expired;
        Wait w;
        int r = wait_get(t, pending, &w);

        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, pending);
        if (r < 0)
                return r;
        if (!wait_state_waits(w.state))
                return diag(reterr, ENGINE_E_BAD_STATE, "pending item %" PRIu64 " is %s", pending,
                            wait_state_name(w.state));
        r = settle_refuse_overdue(t, &w, by, reterr);
        if (r != 0)
                return r;
        r = engine_index_need(t, reterr);
        if (r != 0)
                return r;
        if (!record_id_valid(w.kind, target))
                return diag(reterr, ENGINE_E_BAD_NAME, "target \"%s\" is not an id of %s: %s",
                            DIAG_QUOTED(target), kind_name(w.kind), record_id_rule(w.kind));
        b = bucket_of(t, w.scope, w.kind);
        r = settle_read_item(t, &w, &k)
                ?: settle_read_origin(t, &w, &k)
                ?: settle_apply(t, &b, &w, &k, target, false, by, ret);
        if (r == 0 && ret->outcome == NOTE_COMMITTED && ret->applied)
                r = belief_settle(t, &b, ret, by, &more)
                            ?: engine_wait_expire(t, by->who, by->region, w.scope, by->limits, &expired);
        bucket_row_free(TAKE_PTR(ret->was));
        return r == 0 ? ledger_want_anchor(t) : r;
}
