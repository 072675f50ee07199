#include "belief/note-to-row.h"

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
#define REASON_DAMAGED "damaged"
#define REASON_OTHER "other_incarnation"
#define SLUG_WORDS 6
#define SLUG_BYTES 48

void applied_deinit(Applied *a) {
        json_decref(a->source_ref);
        a->source_ref = NULL;
        bucket_row_free(a->was);
        a->was = NULL;
}

static int apply_outcome(Applied *ret, NoteOutcome outcome, const char *code) {
        ret->outcome = outcome;
        snprintf(ret->code, sizeof(ret->code), "%s", code);
        return 0;
}

/* The names of the row in the request and the note; the commit stores the names with the row (G-43). */
static int apply_add_names(const Applying *a, json_t *body) {
        const char *clause;
        size_t n_clause;
        json_t *phrases;
        int r = 0;

        cues_first_clause(a->note, a->n_note, &clause, &n_clause);
        if (a->request->aliases && json_object_set(body, "aliases", a->request->aliases) < 0)
                return -ENOMEM;
        phrases = json_array();
        if (json_put(body, "phrases", phrases) < 0)
                return -ENOMEM;
        if (a->request->reference)
                r |= json_array_append_new(phrases, json_string(a->request->reference));
        if (n_clause > 0)
                /* the clause, like the note, ends at a whole character */
                r |= json_array_append_new(phrases, json_stringn_nocheck(clause, n_clause));
        return r ? -ENOMEM : 0;
}

/* The thresholds of source_ref, or the policy's when the resolver was not asked (a plan, or a row named by a
 * person). */
static json_t *apply_event_fields(const Applying *a, const json_t *source_ref) {
        bool creates = op_creates(a->request->op);
        const json_t *said_tau = json_object_get(source_ref, "tau"), *said_delta = json_object_get(source_ref, "delta");
        double tau = creates ? a->by->policy->create_tau : a->by->policy->tau;
        double delta = creates ? a->by->policy->create_delta : a->by->policy->delta;
        _cleanup_json_ json_t *fields = json_object();

        if (said_tau)
                tau = json_number_value(said_tau);
        if (said_delta)
                delta = json_number_value(said_delta);
        if (!fields || (a->agent && json_put(fields, "agent", json_string(a->agent)) < 0) ||
            (a->run && json_put(fields, "run", json_string(a->run)) < 0) ||
            (a->number && json_put(fields, "note", json_u64(a->number)) < 0) ||
            (a->noted_by && json_put(fields, "noted_by", json_string(a->noted_by)) < 0) ||
            (a->advisor && *a->advisor && json_put(fields, "advisor", json_string(a->advisor)) < 0) ||
            (a->pending && json_put(fields, "pending", json_u64(a->pending)) < 0) ||
            (a->settles && json_put(fields, "settles", json_string(a->settles)) < 0) ||
            json_put(fields, "tau", json_real(tau)) < 0 || json_put(fields, "delta", json_real(delta)) < 0)
                return NULL;
        return TAKE_PTR(fields);
}

static int apply_to_queue(Txn *t, const Applying *a, const char *reason, Applied *ret) {
        _cleanup_json_ json_t *fields = NULL, *body = NULL;
        const BeliefRequest *q = a->request;

        apply_outcome(ret, NOTE_PENDING, reason);
        if (a->pending)
                return 0;
        fields = apply_event_fields(a, ret->source_ref);
        body = json_pack("{s:O, s:s%, s:O*, s:O*}", "request", q->value, "note", a->note, a->n_note, "source_ref",
                         ret->source_ref, "candidates", json_object_get(ret->source_ref, "candidate_matches"));
        if (!fields || !body || json_object_set_new(fields, "reason", json_string(reason)) < 0 ||
            (a->interpreted && json_object_set(body, "interpreted", (json_t *)a->interpreted) < 0))
                return -ENOMEM;
        return engine_wait(t, a->by->who, a->by->region, a->scope, q->kind, q->op, fields, body, &ret->seq);
}

/* A possible row, or an index entry that leads to such a row, cannot be read, and nothing was written yet. The request
 * waits until the tables are made anew, whatever other rows say (G-7, G-44). A replay does not count as an attempt. */
static int apply_cannot_read(Txn *t, const Applying *a, Applied *ret) {
        diag(&ret->why, 0,
             "%s: a row that the note may be about cannot be read: `lethe verify` names the row, `lethe rebuild` "
             "makes the row anew, then `lethe pending retry`",
             kind_name(a->request->kind));
        ret->held_back = ret->damaged = true;
        return apply_to_queue(t, a, REASON_DAMAGED, ret);
}

/* Tells whether the row itself is damaged, before any write. Damage of the ledger concerns every caller. */
static bool apply_row_is_damaged(Txn *t, const Applying *a, const char *id) {
        RecordKey key = record_key_of(a->scope, a->request->kind, id);
        _cleanup_record_ Record rec = RECORD_NULL;

        return record_get(t, &key, &rec) == -EUCLEAN;
}

/* The first words of the text as an id (G-22). */
static void apply_make_slug(const char *text, Kind kind, char out[static SLUG_BYTES + 1]) {
        size_t n = 0, words = 0;
        bool in_word = false;

        for (; *text && n < SLUG_BYTES; text++) {
                bool letter = ascii_letter(*text), part = letter || ascii_digit(*text);

                if (part && !in_word) {
                        if (words == SLUG_WORDS || (n == 0 && !letter))
                                break;
                        words++;
                        if (n > 0)
                                out[n++] = '_';
                }
                if (part && n < SLUG_BYTES)
                        out[n++] = ascii_lower(*text);
                in_word = part;
        }
        while (n > 0 && out[n - 1] == '_')
                n--;
        out[n] = '\0';
        if (n < 2)
                snprintf(out, SLUG_BYTES + 1, "%s", kind_name(kind));
}

/* Makes an id that a person can name: a few words of the row's text; _2, _3 … follow for an id used now or before. */
static int apply_new_id(Txn *t, const Applying *a, char ret[static RECORD_ID_MAX]) {
        const BeliefRequest *q = a->request;
        char base[SLUG_BYTES + 1];

        apply_make_slug(json_text(json_object_get(q->payload, payload_main(q->kind, q->op))) ?: "", q->kind, base);
        for (unsigned i = 1; i; i++) {
                _cleanup_change_walk_ ChangeWalk w = {0};
                RecordKey key;
                uint64_t seq;
                Op op;
                int r;

                if (i == 1)
                        snprintf(ret, RECORD_ID_MAX, "%s", base);
                else
                        snprintf(ret, RECORD_ID_MAX, "%s_%u", base, i);
                key = record_key_of(a->scope, q->kind, ret);
                r = change_walk(t, &key, &w) ?: change_walk_next(&w, &seq, &op);
                if (r < 0)
                        return r == -ENOENT ? 0 : r;
        }
        return -ENOSPC;
}

/* A pending item may wait for this row to change, so the old row is kept for belief_settle(). */
static int apply_keep_old(Txn *t, const Applying *a, const char *id, Applied *ret) {
        int r = wait_any(t, a->scope, a->request->kind);

        return r > 0 || (r == 0 && a->bucket->lexicon) ? bucket_take(a->bucket, id, &ret->was) : r;
}

/* Tells whether the row that is there now is the one that an item could mean when it began to wait (G-62): a row that
 * was opened since, or ended since, is another one. A row that never existed may be made. Returns 1, 0 or -errno. */
static int apply_is_same_row(Txn *t, const Applying *a, const char *id, Applied *ret) {
        RecordKey key = record_key_of(a->scope, a->request->kind, id);
        _cleanup_change_walk_ ChangeWalk w = {0};
        RecordState state = RECORD_NONE, next;
        uint64_t seq, opened = 0;
        Op op;
        int r = change_walk(t, &key, &w);

        for (; r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0; state = next) {
                next = op == OP_DELETE ? RECORD_NONE : kind_next_state(key.kind, op, state);
                if (record_state_live(next) && !record_state_live(state))
                        opened = seq;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        if (state == RECORD_NONE || (record_state_live(state) && opened < a->pending))
                return 1;
        diag(&ret->why, 0,
             record_state_live(state) ? "%s %s was opened by event %" PRIu64 ", after the item began to wait"
                                      : "%s %s, opened by event %" PRIu64 ", has ended since",
             kind_name(key.kind), id, opened);
        apply_outcome(ret, NOTE_PENDING, REASON_OTHER);
        return 0;
}

static int apply_commit(Txn *t, const Applying *a, const KeySet *keys, const char *id, bool was_closed,
                        Applied *ret) {
        _cleanup_json_ json_t *body = json_object(), *fields = apply_event_fields(a, ret->source_ref);
        const BeliefRequest *q = a->request;
        Mutated m;
        int r = a->pending && !a->target ? apply_is_same_row(t, a, id, ret) : 1;

        if (r == -EUCLEAN)
                return apply_cannot_read(t, a, ret);
        if (r <= 0)
                return r;
        if (a->look)
                return apply_outcome(ret, NOTE_COMMITTED, "");
        if (!body || !fields || json_put(body, "raw_input", json_stringn_nocheck(a->note, a->n_note)) < 0 ||
            (ret->source_ref && json_put(body, "source_ref", json_incref(ret->source_ref)) < 0))
                return -ENOMEM;
        r = apply_add_names(a, body);
        if (r == 0 && a->interpreted && json_object_set(body, "interpreted", (json_t *)a->interpreted) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = apply_keep_old(t, a, id, ret);
        if (r < 0)
                return r == -EUCLEAN ? apply_cannot_read(t, a, ret) : r;
        r = engine_mutate(t,
                          &(Mutation){.scope = a->scope_name, .kind = q->kind, .op = q->op, .id = id,
                                      .expect = MUTATION_ANY, .payload = q->payload, .more = body, .fields = fields,
                                      .who = a->by->who, .region = a->by->region, .keys = keys, .takes = true,
                                      .one_of_many = true},
                          &m, &ret->why);
        if (r == -EUCLEAN && apply_row_is_damaged(t, a, id))
                return apply_cannot_read(t, a, ret);
        if (r == ENGINE_E_BLOCKED)
                return apply_to_queue(t, a, "blocked", ret);
        ret->held_back = r == ENGINE_E_KEY_ESCAPE;
        if (r > 0)
                return apply_outcome(ret, a->pending ? NOTE_PENDING : NOTE_INVALID, engine_code_name(r));
        if (r < 0)
                return r;
        apply_outcome(ret, NOTE_COMMITTED, "");
        ret->seq = m.seq;
        ret->state = m.state;
        ret->created = m.created;
        ret->applied = m.applied;
        ret->reactivated = was_closed && !m.created;
        strcpy(ret->id, m.id);
        return 0;
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

static int apply_decide(Txn *t, const Applying *a, const KeySet *keys, Applied *ret) {
        const BeliefRequest *q = a->request;
        _cleanup_candidates_ Candidates c = {0};
        ResolveQuestion asked = asked_by(q, a->note, a->n_note);
        char id[RECORD_ID_MAX];
        int r;

        asked.agent = a->agent;
        r = candidates_find(a->bucket, &asked, a->by->policy, &c);

        if (r < 0)
                return r == -EUCLEAN ? apply_cannot_read(t, a, ret) : r;
        ret->source_ref = resolve_source_ref(q->op, &c.outcome, c.v, c.n, a->by->policy);
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

/* The request of an advisor, with the names alone that stand in the note. A person's choice needs no support. */
static int apply_heard(Txn *t, const Applying *a, const KeySet *keys, Applied *ret) {
        _cleanup_support_ NoteSupport s = {0};
        Applying heard = *a;
        int r;

        if (!a->advised || a->target)
                return apply_request(t, a, keys, ret);
        r = support_init(a->request, a->note, a->n_note, &s);
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
