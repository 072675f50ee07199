#include "engine/digest-pass.h"

#include "record/event.h"
#include "engine/mutate.h"
#include "engine/project.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int pass_check_removal(Txn *t, const Pass *p, const PassStep *s, const Record *rec, Diag *reterr) {
        _cleanup_free_ Ref *blockers = NULL;
        uint64_t archived, since;
        size_t n;
        int r = pass_of_archival(t, rec, &archived);

        if (r == 0 && archived >= p->number)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "%s %s was archived by pass %" PRIu64 ": a later pass may remove the record",
                            kind_name(s->key.kind), s->key.id, archived);
        if (r == 0 && p->stay_usec > 0) {
                r = pass_archived_usec(t, rec, &since);
                if (r == 0 && since + p->stay_usec > p->now_usec)
                        return diag(reterr, ENGINE_E_CONFLICT,
                                    "%s %s was archived less than the policy's stay ago: a later pass may remove the "
                                    "record", kind_name(s->key.kind), s->key.id);
        }
        if (r == 0)
                r = graph_blockers(t, &s->key, &blockers, &n);
        if (r == 0 && n > 0)
                return diag(reterr, ENGINE_E_DEPENDENTS, "%s %s is not removed: %s %s refers to the record (%s)",
                            kind_name(s->key.kind), s->key.id, kind_name(blockers[0].source.kind),
                            blockers[0].source.id, blockers[0].strong ? "strong" : "weak");
        return r;
}

static int pass_check_step(Txn *t, const Pass *p, const PassStep *s, Diag *reterr) {
        Class c = kind_class(s->key.kind);
        _cleanup_record_ Record rec = RECORD_NULL;
        int r;

        if (c != CLASS_MEMORY && c != CLASS_KNOWLEDGE && c != CLASS_SKILL)
                return diag(reterr, ENGINE_E_BAD_OPERATION, "a pass does not clean up %s%s",
                            kind_name(s->key.kind) ? kind_name(s->key.kind) : "?",
                            c == CLASS_KERNEL ? ": kernels are inviolate" : "");
        if (s->op != OP_ARCHIVE && s->op != OP_REMOVE)
                return diag(reterr, ENGINE_E_BAD_OPERATION, "a pass only archives and removes");
        r = record_get(t, &s->key, &rec);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no record %s of %s in scope %s", s->key.id,
                            kind_name(s->key.kind), p->scope);
        if (r < 0)
                return r;
        if (kind_next_state(s->key.kind, s->op, rec.state) == RECORD_NONE)
                return diag(reterr, ENGINE_E_BAD_STATE, "%s %s is %s: \"%s\" does not accept this state",
                            kind_name(s->key.kind), s->key.id, record_state_name(rec.state), op_name(s->op));
        if (!s->by_person && !((s->op == OP_REMOVE ? p->admitted_removal : p->admitted) & 1U << s->reason.code))
                return diag(reterr, ENGINE_E_NOT_GRANTED, "%s %s: reason %s is not approved", kind_name(s->key.kind),
                            s->key.id, reason_name(s->reason.code));
        r = reason_holds(t, &s->key, &s->reason);
        if (r == 0)
                return diag(reterr, ENGINE_E_CONFLICT, "%s %s: reason %s does not hold", kind_name(s->key.kind),
                            s->key.id, reason_name(s->reason.code));
        if (r < 0)
                return r;
        return s->op == OP_REMOVE ? pass_check_removal(t, p, s, &rec, reterr) : 0;
}

static int pass_step_compare(const void *a, const void *b) {
        return record_key_compare(&(*(const PassStep *const *)a)->key, &(*(const PassStep *const *)b)->key);
}

/* Each record at most once: a pass does not both archive and remove a record. */
static int pass_check_once(const Pass *p, Diag *reterr) {
        _cleanup_free_ const PassStep **v = calloc(p->n + 1, sizeof(*v));

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < p->n; i++)
                v[i] = &p->steps[i];
        qsort(v, p->n, sizeof(*v), pass_step_compare);
        for (size_t i = 1; i < p->n; i++)
                if (pass_step_compare(&v[i - 1], &v[i]) == 0)
                        return diag(reterr, ENGINE_E_CONFLICT,
                                    "%s %s is in the pass twice: only a later pass removes an archived record",
                                    kind_name(v[i]->key.kind), v[i]->key.id);
        return 0;
}

static int pass_check(Txn *t, const Pass *p, uint64_t scope, uint64_t last, Diag *reterr) {
        int r = 0;

        if (strcmp(p->routine, "digest") != 0 && !p->registered) /* M-40, M-67 */
                return diag(reterr, ENGINE_E_NOT_GRANTED, "the routine is not registered");
        if (p->number != last + 1)
                return diag(reterr, ENGINE_E_CONFLICT, "pass %" PRIu64 ": the next pass of scope %s is %" PRIu64,
                            p->number, p->scope, last + 1);
        if (p->n > PASS_STEPS_MAX)
                return diag(reterr, ENGINE_E_TOO_MANY, "%zu steps in one pass: at most %d are allowed", p->n,
                            PASS_STEPS_MAX);
        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = p->steps[i].key.scope != scope
                            ? diag(reterr, ENGINE_E_CROSS_SCOPE, "a step is about a record of another scope")
                            : pass_check_step(t, p, &p->steps[i], reterr);
        return r == 0 ? pass_check_once(p, reterr) : r;
}

static int pass_refuse(Txn *t, const Pass *p, int code) {
        json_t *fields = json_pack("{s:s, s:s*, s:s, s:o}", "code", engine_code_name((EngineCode)code), "scope",
                                   scope_name_valid(p->scope) ? p->scope : NULL, "op", "digest", "pass",
                                   json_u64(p->number));
        int r = event_append(
                t, &(Event){.type = "mutation.refused", .who = p->who, .region = p->region, .fields = fields}, NULL);

        return r < 0 ? r : code;
}

/* Appends digest.pass and updates the row of the scope. before: the event of the previous pass, as a chain through all
 * passes. */
static int pass_append(Txn *t, const Pass *p, uint64_t scope, uint64_t before, uint64_t *ret_seq) {
        size_t archived = 0;
        json_t *fields;

        for (size_t i = 0; i < p->n; i++)
                archived += p->steps[i].op == OP_ARCHIVE;
        fields = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o*, s:s*, s:o*}", "routine", p->routine, "name", p->scope,
                           "scope", json_u64(scope), "pass", json_u64(p->number), "archived", json_u64(archived),
                           "removed", json_u64(p->n - archived), "before", before ? json_u64(before) : NULL,
                           "proposed_by", p->proposer, "scheduled", p->scheduled ? json_true() : NULL);
        return project_append(t,
                              &(Event){.type = "digest.pass", .who = p->who, .region = p->region, .fields = fields,
                                       .json = p->record}, ret_seq);
}

static int pass_apply(Txn *t, const Pass *p, const PassStep *s) {
        _cleanup_json_ json_t *fields =
                json_pack("{s:o, s:o}", "pass", json_u64(p->number), "reason", reason_json(&s->reason));
        uint64_t erased;
        Diag why;
        Mutated m;
        int r;

        if (!fields)
                return -ENOMEM;
        r = mutate_judged(t,
                          &(Mutation){.scope = p->scope, .kind = s->key.kind, .op = s->op, .id = s->key.id,
                                      .expect = MUTATION_ANY, .fields = fields, .who = p->who, .region = p->region},
                          &m, &why);
        if (r == 0 && s->op == OP_REMOVE) /* a tombstone has no payload (M-38) */
                r = engine_erase(t, &s->key, &erased);
        return r > 0 || (r == 0 && !m.applied) ? -EUCLEAN : r;
}

int engine_pass(Txn *t, const Pass *p, uint64_t *ret_seq, Diag *reterr) {
        uint64_t scope, last, before, seq;
        int r = scope_find(t, p->scope, &scope, reterr)
                ?: pass_last(t, scope, &last, &before)
                ?: pass_check(t, p, scope, last, reterr);

        if (r > 0)
                return pass_refuse(t, p, r);
        if (r == 0)
                r = pass_append(t, p, scope, before, &seq);
        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = pass_apply(t, p, &p->steps[i]);
        if (r < 0)
                return r;
        *ret_seq = seq;
        return ledger_want_anchor(t);
}
