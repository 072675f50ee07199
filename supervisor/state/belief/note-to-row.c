#include "belief/row-write.h"

#include "base/ascii.h"
#include "belief/candidates.h"
#include "belief/cues.h"
#include "belief/support.h"
#include "engine/payload.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASON_REOPEN "reopen"

void applied_deinit(Applied *a) {
        json_decref(a->source_ref);
        a->source_ref = NULL;
        bucket_row_free(a->was);
        a->was = NULL;
}

/* The plan is a single row, and the state of a task has the task's id. Such a request needs no search (G-32, G-37). */
static int apply_fixed_target(const Applying *a, const char **ret_id, Applied *ret) {
        const BeliefRequest *q = a->request;

        *ret_id = NULL;
        if (q->kind == KIND_PLAN) {
                if (q->target && strcmp(q->target, "main") != 0) {
                        diag(&ret->why, 0, "target_id is \"%s\": the plan's one row is main", q->target);
                        return apply_outcome(ret, NOTE_INVALID, "bad_target");
                }
                *ret_id = "main";
        } else if (q->kind == KIND_TASK_STATE) {
                if (!q->target) {
                        diag(&ret->why, 0, "target_id is needed: the task whose state this is");
                        return apply_outcome(ret, NOTE_INVALID, "missing_target");
                }
                *ret_id = q->target;
        }
        return 0;
}

/* The row's history names the person who chose the row (G-48, G-50). */
static int apply_by_person(const Applying *a, const char **ret_id, Applied *ret) {
        *ret_id = a->target;
        ret->source_ref = json_pack("{s:s, s:[], s:s, s:s*, s:o*}", "matched_target_id", a->target, "candidate_matches",
                                    "resolution_reason", "person", "who", a->by->who, "pending",
                                    a->pending ? json_u64(a->pending) : NULL);
        return ret->source_ref ? 0 : -ENOMEM;
}

/* The item waits because a similar row existed. The row may have ended or changed since; the item is still no new
 * thing. Otherwise a withdrawn decision would come back through a paraphrase (G-19, G-20). A row with the same text
 * still binds. */
static bool apply_had_alike(const Applying *a) {
        return a->pending && a->waits_for &&
               (strcmp(a->waits_for, resolve_reason_name(RESOLVE_ALIKE)) == 0 ||
                strcmp(a->waits_for, resolve_reason_name(RESOLVE_MENTIONED)) == 0 ||
                strcmp(a->waits_for, REASON_REOPEN) == 0);
}

static bool apply_note_says(const Applying *a, const char *id) {
        size_t at = 0, n = strlen(id);
        Word w;

        while (word_next(a->note, a->n_note, &at, &w))
                if (w.n == n && memcmp(w.p, id, n) == 0)
                        return true;
        return false;
}

/* A request to end an unknown row waits for a row of its scope. Names are free in each scope, so a word of the note is
 * not another scope's row (G-19). An id without support in the note comes from the advisor alone, who was told of no
 * such row: when another scope has the id, the request is refused (M-23). */
static int apply_cross_scope(Txn *t, const Applying *a, Applied *ret) {
        const BeliefRequest *q = a->request;
        int r = apply_note_says(a, q->target) ? 0 : scope_others_have(t, a->scope, q->kind, q->target);

        if (r <= 0)
                return r;
        diag(&ret->why, 0,
             "target_id is \"%s\": scope %s has no such row of %s, and a note cannot write to another scope",
             q->target, a->scope_name, kind_name(q->kind));
        return apply_outcome(ret, NOTE_INVALID, engine_code_name(ENGINE_E_CROSS_SCOPE));
}

static int apply_unsupported(Txn *t, const Applying *a, const NoteSupport *s, Applied *ret) {
        _cleanup_json_ json_t *ref = ret->source_ref ? json_copy(ret->source_ref) : json_object();
        char names[200] = "";
        size_t i, n = 0;
        json_t *v;

        json_array_foreach(s->missing, i, v) {
                int k = snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", json_text(v));

                n = MIN(n + (size_t)MAX(k, 0), sizeof(names) - 1);
        }
        if (!ref || json_object_set(ref, "unsupported", s->missing) < 0)
                return -ENOMEM;
        json_object_del(ref, "matched_target_id");
        json_decref(ret->source_ref);
        ret->source_ref = TAKE_PTR(ref);
        diag(&ret->why, 0, "the note's own text does not support the advisor's %s", names);
        return apply_to_queue(t, a, SUPPORT_REASON, ret);
}

/* Returns 1 when the note supports the
 * request, 0 with an outcome, -errno. */
static int apply_is_supported(Txn *t, const Applying *a, bool is_new, Applied *ret) {
        const BeliefRequest *q = a->request;
        int r;

        if (!a->support)
                return 1;
        r = support_judge(a->support, is_new || q->kind == KIND_TASK_STATE);
        if (r == 0 && q->target && q->kind != KIND_PLAN && q->kind != KIND_TASK_STATE)
                r = support_judge_row(a->support, a->bucket, a->by->policy, is_new);
        if (r < 0)
                return r == -EUCLEAN ? apply_cannot_read(t, a, ret) : r;
        return json_array_size(a->support->missing) == 0 ? 1 : apply_unsupported(t, a, a->support, ret);
}

static bool apply_same_text(const char *a, const char *b) {
        for (;; a++, b++) {
                while (ascii_blank(*a))
                        a++;
                while (ascii_blank(*b))
                        b++;
                if (ascii_lower(*a) != ascii_lower(*b))
                        return false;
                if (!*a)
                        return true;
        }
}

/* "no_net must never be lifted": the statement begins with the rule's id. */
static bool apply_begins_with(const char *text, const char *id) {
        static const char *const before[] = {"the", "our", "constraint", "rule", "requirement"};
        size_t at = 0, n = strlen(text), i = 0;
        Word w;

        while (word_next(text, n, &at, &w)) {
                if (w.n == strlen(id) && memcmp(w.p, id, w.n) == 0)
                        return true;
                for (i = 0; i < ARRAY_SIZE(before); i++)
                        if (w.n == strlen(before[i]) && memcmp(w.p, before[i], w.n) == 0)
                                break;
                if (i == ARRAY_SIZE(before))
                        return false;
        }
        return false;
}

/* A statement of plain English is no new text of a row that is there: "The fix for login_bug is broken" only mentions
 * the issue. A note in the grammar says which row it writes, and so does a rule with its id in front. Returns 1 when a
 * text would be lost, 0, or -errno. */
static int apply_rewrites(const Applying *a, const char *id) {
        const BeliefRequest *q = a->request, *said = a->support ? &a->support->said : q;
        const char *text = json_text(json_object_get(q->payload, payload_main(q->kind, q->op)));
        const BucketRow *row;
        int r;

        if (!op_creates(q->op) || !said->accept || said->confidence >= CUES_FORM_CONFIDENCE)
                return 0;
        r = bucket_row(a->bucket, id, &row);
        if (r < 0 || !text)
                return r < 0 ? r : 1;
        return !apply_same_text(text, row->title) && !(q->kind == KIND_CONSTRAINT && apply_begins_with(text, id));
}

static int apply_decide(Txn *t, const Applying *a, const KeySet *keys, Applied *ret) {
        const BeliefRequest *q = a->request;
        _cleanup_candidates_ Candidates c = {0};
        const ResolvePolicy of_bucket = resolve_policy_of(a->by->policy, q->kind);
        ResolveQuestion asked = asked_by(q, a->note, a->n_note);
        char id[RECORD_ID_MAX];
        int r;

        asked.agent = a->agent;
        r = candidates_find(a->bucket, &asked, a->by->policy, &c);

        if (r < 0)
                return r == -EUCLEAN ? apply_cannot_read(t, a, ret) : r;
        ret->source_ref = resolve_source_ref(q->op, &c.outcome, c.v, c.n, &of_bucket);
        if (!ret->source_ref ||
            (a->pending && json_object_set_new(ret->source_ref, "pending", json_u64(a->pending)) < 0))
                return -ENOMEM;
        /* neither a similar row nor the same row after a reopening may be taken instead */
        if (*c.past && (c.n == 0 || (!c.v[0].exact && !c.v[0].named))) {
                diag(&ret->why, 0, "%s %s is %s, which \"%s\" does not accept", kind_name(q->kind), c.past,
                     record_state_name(c.past_state), op_name(q->op));
                return apply_outcome(ret, a->pending ? NOTE_PENDING : NOTE_INVALID,
                                     engine_code_name(ENGINE_E_BAD_STATE));
        }
        if (c.outcome.reason == RESOLVE_NO_CANDIDATE && q->target && !a->pending) {
                r = apply_cross_scope(t, a, ret);
                if (r != 0 || ret->outcome)
                        return r;
        }
        switch (c.outcome.verdict) {
        case RESOLVE_BIND: {
                RecordState state = candidates_state(&c, 0);
                bool closed = state == RECORD_RESOLVED || state == RECORD_INVALIDATED;

                if (state == RECORD_RESOLVED && c.outcome.reason != RESOLVE_EXPLICIT) /* G-34 */
                        return apply_to_queue(t, a, REASON_REOPEN, ret);
                r = apply_is_supported(t, a, false, ret);
                if (r <= 0)
                        return r;
                r = apply_rewrites(a, c.v[0].id);
                if (r != 0)
                        return r > 0 ? apply_to_queue(t, a, resolve_reason_name(RESOLVE_MENTIONED), ret)
                               : r == -EUCLEAN ? apply_cannot_read(t, a, ret)
                                               : r;
                return apply_commit(t, a, keys, c.v[0].id, closed && q->op == OP_UPSERT, ret);
        }
        case RESOLVE_NEW:
                if (apply_had_alike(a))
                        return apply_outcome(ret, NOTE_PENDING, a->waits_for);
                if (q->confidence < APPLY_CONFIDENCE_LEAST) {
                        diag(&ret->why, 0, "confidence is %.15g: a new row without a binding needs %.15g",
                             q->confidence + 0.0, APPLY_CONFIDENCE_LEAST);
                        return apply_outcome(ret, NOTE_INVALID, "low_confidence");
                }
                r = apply_is_supported(t, a, true, ret);
                if (r <= 0)
                        return r;
                if (q->target)
                        return apply_commit(t, a, keys, q->target, false, ret);
                r = apply_new_id(t, a, id);
                return r == -EUCLEAN ? apply_cannot_read(t, a, ret)
                       : r < 0       ? r
                                     : apply_commit(t, a, keys, id, false, ret);
        case RESOLVE_WAIT:
                break;
        }
        if (a->support && json_array_size(a->support->missing) > 0)
                return apply_unsupported(t, a, a->support, ret);
        return apply_to_queue(t, a, resolve_reason_name(c.outcome.reason), ret);
}

static int apply_request(Txn *t, const Applying *a, const KeySet *keys, Applied *ret) {
        const char *id = NULL;
        int r = apply_fixed_target(a, &id, ret);

        if (r == 0 && !ret->outcome && a->target)
                r = apply_by_person(a, &id, ret);
        else if (r == 0 && !ret->outcome && id)
                r = MIN(apply_is_supported(t, a, false, ret), 0);
        if (r < 0 || ret->outcome)
                return r;
        return id ? apply_commit(t, a, keys, id, false, ret) : apply_decide(t, a, keys, ret);
}

/* The output of a tool supports no plan, rule or decision for others: whoever the tool spoke with wrote the output. */
static bool apply_binds_others(Kind kind) {
        return kind == KIND_PLAN || kind == KIND_CONSTRAINT || kind == KIND_DECISION;
}

/* The request of an advisor, with the names alone that stand in the note. A person's choice needs no support. */
static int apply_heard(Txn *t, const Applying *a, const KeySet *keys, Applied *ret) {
        _cleanup_support_ NoteSupport s = {0};
        Applying heard = *a;
        int r;

        if (!a->advised || a->target)
                return apply_request(t, a, keys, ret);
        r = support_init(a->request, a->note, a->n_note, &s);
        if (r == 0 && a->from_tool && apply_binds_others(a->request->kind))
                r = support_miss(&s, "role");
        if (r < 0)
                return r;
        heard.request = &s.heard;
        heard.support = &s;
        return apply_request(t, &heard, keys, ret);
}

int belief_apply(Txn *t, const Applying *a, Applied *ret) {
        const BeliefRequest *q = a->request;
        _cleanup_applied_ Applied out = {.kind = q->kind, .op = q->op};
        /* A region that lives now may not have existed when an item began to wait (I-11). */
        const KeySet *keys = key_hold(a->by->keys);
        /* The queue bypasses the engine's own key scan, so the scan is here. */
        int r = keyscan_text(keys, a->note, a->n_note) ?: keyscan_json(keys, q->value);

        if (r > 0) {
                out.held_back = true;
                r = apply_outcome(&out, NOTE_INVALID, engine_code_name(ENGINE_E_KEY_ESCAPE));
                diag(&out.why, 0, "it holds the key of a region that lives");
        } else if (r == 0 && !q->accept) {
                /* Codes are Lethe's own: the words of an advisor become a message only. */
                apply_outcome(&out, NOTE_REJECTED,
                              q->rationale && strcmp(q->rationale, CUE_NO_CUE) == 0 ? CUE_NO_CUE : "rejected");
                diag(&out.why, 0, "%s", q->rationale ? q->rationale : "");
        } else if (r == 0)
                r = apply_heard(t, a, keys, &out);
        key_let_go(a->by->keys, &keys);
        if (r < 0)
                return r;
        *ret = out;
        out.source_ref = NULL;
        out.was = NULL;
        return 0;
}

json_t *applied_json(const Applied *a) {
        _cleanup_json_ json_t *o = json_object();
        int r;

        if (!o)
                return NULL;
        r = json_put(o, "outcome", json_string_nocheck(note_outcome_name(a->outcome)));
        if (*a->code)
                r |= json_put(o, "code", json_string(a->code));
        if (*a->why.text)
                r |= json_put(o, "message", json_string(a->why.text));
        if (a->kind)
                r |= json_put(o, "bucket", json_string_nocheck(kind_name(a->kind))) |
                     json_put(o, "operation", json_string_nocheck(op_name(a->op)));
        if (a->seq)
                r |= json_object_set_new(o, a->outcome == NOTE_PENDING ? "pending" : "seq", json_u64(a->seq));
        if (a->outcome == NOTE_COMMITTED)
                r |= json_put(o, "id", json_string(a->id)) |
                     json_put(o, "state", json_string_nocheck(record_state_name(a->state))) |
                     json_put(o, "created", json_boolean(a->created)) |
                     json_put(o, "applied", json_boolean(a->applied));
        if (a->reactivated)
                r |= json_put(o, "reactivated", json_true());
        if (a->source_ref)
                r |= json_put(o, "source_ref", json_incref(a->source_ref));
        return r ? NULL : TAKE_PTR(o);
}
