/* Runs: supervisor, CLI. The writes of a decided request (row-write.h). */
#include "belief/row-write.h"

#include "base/ascii.h"
#include "belief/cues.h"
#include "engine/payload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASON_DAMAGED "damaged"
#define REASON_OTHER "other_incarnation"
#define SLUG_WORDS 6
#define SLUG_BYTES 48

int apply_outcome(Applied *ret, NoteOutcome outcome, const char *code) {
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

int apply_to_queue(Txn *t, const Applying *a, const char *reason, Applied *ret) {
        _cleanup_json_ json_t *fields = NULL, *body = NULL;
        const BeliefRequest *q = a->request;

        apply_outcome(ret, NOTE_PENDING, reason);
        if (a->pending)
                return 0;
        fields = apply_event_fields(a, ret->source_ref);
        body = json_pack("{s:O, s:s%, s:O*, s:O*}", "request", q->value, "note", a->note, a->n_note, "source_ref",
                         ret->source_ref, "candidates", json_object_get(ret->source_ref, "candidate_matches"));
        if (!fields || !body || json_object_set_new(fields, "reason", json_string(reason)) < 0 ||
            (a->from_tool && json_put(body, "role", json_string_nocheck(APPLY_ROLE_TOOL)) < 0) ||
            (a->interpreted && json_object_set(body, "interpreted", (json_t *)a->interpreted) < 0))
                return -ENOMEM;
        return engine_wait(t, a->by->who, a->by->region, a->scope, q->kind, q->op, fields, body, &ret->seq);
}

int apply_cannot_read(Txn *t, const Applying *a, Applied *ret) {
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

int apply_new_id(Txn *t, const Applying *a, char ret[static RECORD_ID_MAX]) {
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

int apply_commit(Txn *t, const Applying *a, const KeySet *keys, const char *id, bool was_closed,
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
