#include "belief/promote.h"

#include "base/hash.h"
#include "engine/fold.h"
#include "engine/payload.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <string.h>

#define HASH_MANY 8 /* notes; each has three or four hashes */

/* A note after reading and interpretation, outside of any write transaction. */
typedef struct ReadyNote {
        Note note;  /* owned, and note.raw as well */
        Interpreted made;
        json_t *outcome; /* owned; for told() */
        uint64_t resolved;
        NoteOutcome is;
} ReadyNote;

static void promote_drop_note(Note *n) {
        free((void *)n->raw.p);
        note_deinit(n);
}

static void promote_ready_deinit(ReadyNote *r) {
        promote_drop_note(&r->note);
        interpreted_deinit(&r->made);
        json_decref(r->outcome);
        *r = (ReadyNote){0};
}

static int promote_context_list(Txn *t, uint64_t scope, Kind kind, RecordState state, json_t *list) {
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = record_walk(t, scope, kind, &w);

        while (r == 0 && ((r = record_walk_next(&w, &rec)) == 0 || (r == -EUCLEAN && rec.key.kind))) {
                _cleanup_json_ json_t *payload = NULL;
                json_t *title;

                if (r == 0 && rec.state != state)
                        continue;
                if (r == 0)
                        r = record_payload(t, &rec, &payload);
                if (r == -EUCLEAN) {
                        r = 0;
                        continue;
                }
                title = json_object_get(payload, payload_main(kind, kind == KIND_DECISION ? OP_APPEND : OP_UPSERT));
                if (r == 0 &&
                    json_array_append_new(list, json_pack("{s:s, s:o, s:O*, s:O*}", "id", rec.key.id, "version",
                                                          json_u64(rec.version), "title", title, "aliases",
                                                          json_object_get(rec.row, "aliases"))) < 0)
                        r = -ENOMEM;
        }
        return r == -ENOENT ? 0 : r;
}

/* {"issues":[{"id","version","title","aliases"}…],"decisions":[…],"constraints":[…]}: the open and active rows (G-6).
 * Unreadable rows are left out; a request about an unreadable row waits (belief_apply()). */
static int promote_context(Txn *t, uint64_t scope, json_t **ret) {
        _cleanup_json_ json_t *o = json_pack("{s:[], s:[], s:[]}", "issues", "decisions", "constraints");
        int r = o ? promote_context_list(t, scope, KIND_ISSUE, RECORD_OPEN, json_object_get(o, "issues"))
                        ?: promote_context_list(t, scope, KIND_DECISION, RECORD_ACTIVE, json_object_get(o, "decisions"))
                        ?: promote_context_list(t, scope, KIND_CONSTRAINT, RECORD_ACTIVE,
                                                json_object_get(o, "constraints"))
                  : -ENOMEM;

        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}

/* Reads the next notes and interprets them. *ret_n: the number of notes, 0 at the end; *ret_more: more notes follow.
 * With an advisor a batch is a single note, so that each note has the context of its time (G-5). */
static int promote_read(Store *s, const Promoting *p, uint64_t from, size_t most, ReadyNote *ready, size_t *ret_n,
                        bool *ret_more, NoteRun *run, bool *ret_store, Diag *reterr) {
        _cleanup_json_ json_t *context = NULL;
        _cleanup_note_ Note note = NOTE_NULL;
        _cleanup_txn_ Txn *t = NULL;
        CueRole roles[PROMOTE_BATCH_MAX];
        size_t n = 0;
        int r = store_begin(s, false, &t, reterr);

        *ret_store = r != 0;
        if (r == 0)
                r = engine_run_get(t, p->run, run, reterr);
        if (r == 0)
                from = MAX(from, run->settled + 1);
        if (r == 0 && p->advisor)
                r = promote_context(t, run->scope, &context);
        while (r == 0 && n < most && (r = engine_note_next(t, p->run, from, true, &note)) == 0) {
                void *raw = malloc(note.raw.n);

                if (raw)
                        memcpy(raw, note.raw.p, note.raw.n);
                roles[n] = note.role == NOTE_TOOL_RESULT ? CUE_TOOL_RESULT : CUE_AGENT;
                from = note.number + 1;
                ready[n] = (ReadyNote){.note = note};
                ready[n++].note.raw.p = raw;
                note = NOTE_NULL;
                r = raw ? 0 : -ENOMEM;
        }
        if (r == 0 && n == most)
                r = engine_note_next(t, p->run, from, true, &note);
        store_abort(TAKE_PTR(t));
        *ret_n = n;
        *ret_more = r == 0;
        if (r != 0 && r != -ENOENT)
                return r;
        r = 0;
        if (n >= HASH_MANY)
                hash_many();
        if (p->advisor && p->advisor->about && n > 0) /* the batch is a single note */
                *p->advisor->about = ready[0].note.number;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = interpret(p->advisor, note_words(&ready[i].note), note_length(&ready[i].note), roles[i], context,
                              &ready[i].made);
        return r;
}

/* Frees the useless parts of a persisted note at once, while the memory is still in the processor's cache. */
static void promote_drop(ReadyNote *r, bool told) {
        uint64_t number = r->note.number;

        promote_drop_note(&r->note);
        r->note.number = number;
        interpreted_deinit(&r->made);
        if (!told)
                json_decref(TAKE_PTR(r->outcome));
}

static int promote_one(Txn *t, const Promoting *p, const NoteRun *run, const char *scope_name, ReadyNote *ready) {
        _cleanup_json_ json_t *interpreted = interpreted_outcome(&ready->made);
        _cleanup_bucket_ Bucket b = bucket_of(t, run->scope, ready->made.request.kind);
        _cleanup_applied_ Applied done = {0};
        const Trying by = {.policy = p->policy, .who = p->who, .region = p->region, .keys = p->keys,
                           .limits = p->limits};
        int r = interpreted ? 0 : -ENOMEM;

        if (r == 0 && ready->made.code) {
                done.outcome = NOTE_INVALID;
                snprintf(done.code, sizeof(done.code), "%s", belief_code_name(ready->made.code));
                done.why = ready->made.why;
        } else if (r == 0)
                r = belief_apply(
                        t,
                        &(Applying){.scope = run->scope, .scope_name = scope_name, .request = &ready->made.request,
                                    .note = note_words(&ready->note), .n_note = note_length(&ready->note),
                                    .agent = run->agent, .run = run->id, .number = ready->note.number, .bucket = &b,
                                    .noted_by = json_text(json_object_get(ready->note.row, "region")),
                                    .from_tool = ready->note.role == NOTE_TOOL_RESULT,
                                    .by = &by, .advised = p->advisor && !ready->made.degraded,
                                    .interpreted = p->advisor ? interpreted : NULL,
                                    .advisor = p->advisor && !ready->made.degraded ? p->advisor->region : NULL},
                        &done);
        if (r == 0 && done.outcome == NOTE_COMMITTED && done.applied)
                r = belief_settle(t, &b, &done, &by, &ready->resolved);
        if (r < 0)
                return r;
        ready->is = done.outcome;
        ready->outcome = applied_json(&done);
        if (!ready->outcome || json_object_set(ready->outcome, "interpreted", interpreted) < 0)
                return -ENOMEM;
        r = engine_note_settle(t, run->id, ready->note.number, &ready->note, done.outcome, ready->outcome);
        promote_drop(ready, p->told != NULL);
        return r;
}

/* last: no outcome is told after this batch, and the checkpoint is copied outside the store. */
static int promote_persist(Store *s, const Promoting *p, const NoteRun *run, ReadyNote *ready, size_t n, bool last,
                           size_t *ret_expired, bool *ret_store, Diag *reterr) {
        char scope_name[SCOPE_NAME_MAX];
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(s, true, &t, reterr);

        *ret_store = r != 0;
        if (r == 0)
                r = engine_index_need(t, reterr) ?: scope_name_of(t, run->scope, scope_name);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = promote_one(t, p, run, scope_name, &ready[i]);
                /* promoted by another process, or the run ended, since the note was read */
                if (r == -EALREADY || r == -ENOENT) {
                        ready[i].is = NOTE_UNPROCESSED;
                        return -EAGAIN;
                }
        }
        if (r == 0)
                r = engine_wait_expire(t, p->who, p->region, run->scope, p->limits, ret_expired);
        if (r == 0) /* the notes are consecutive, and the first without an outcome */
                r = engine_run_settled(t, run->id, n, ready[n - 1].note.number);
        if (r == 0 && last)
                r = ledger_want_anchor(t);
        if (r != 0)
                return r;
        r = store_commit(TAKE_PTR(t), reterr);
        *ret_store = r != 0;
        return r;
}

static void promote_count(Promoted *c, const ReadyNote *r) {
        c->notes++;
        c->committed += r->is == NOTE_COMMITTED;
        c->pending += r->is == NOTE_PENDING;
        c->rejected += r->is == NOTE_REJECTED;
        c->invalid += r->is == NOTE_INVALID;
        c->resolved += r->resolved;
}

int belief_promote(Store *s, const Promoting *p, Promoted *ret, bool *ret_store, Diag *reterr) {
        size_t batch = p->advisor ? 1 : MIN(MAX(p->batch, 1U), (unsigned)PROMOTE_BATCH_MAX);
        uint64_t from = 1;
        Promoted sum = {0};
        int r = engine_index_renew(s, reterr);

        *ret_store = r != 0;
        for (unsigned again = 0; r == 0;) {
                ReadyNote ready[PROMOTE_BATCH_MAX]; /* large, and not cleared: promote_read() sets the first n */
                size_t n = 0, most = p->most ? MIN(batch, p->most - sum.notes) : batch;
                size_t expired = 0;
                bool more = false;
                NoteRun run;

                if (most == 0)
                        break;
                r = promote_read(s, p, from, most, ready, &n, &more, &run, ret_store, reterr);
                if (r == 0 && n > 0)
                        r = promote_persist(s, p, &run, ready, n, !more || (p->most && sum.notes + n == p->most),
                                            &expired, ret_store, reterr);
                sum.expired += r == 0 ? expired : 0;
                for (size_t i = 0; r == 0 && i < n; i++) {
                        promote_count(&sum, &ready[i]);
                        if (p->told)
                                r = p->told(p->user, ready[i].note.number, ready[i].outcome);
                }
                if (r == 0 && n > 0)
                        from = ready[n - 1].note.number + 1;
                for (size_t i = 0; i < n; i++)
                        promote_ready_deinit(&ready[i]);
                if (r == -EAGAIN && again++ < 100) {
                        r = 0;
                        from = 1;
                }
                else if (n == 0)
                        break;
        }
        *ret = sum;
        return r;
}
