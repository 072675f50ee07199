#include "engine/pass.h"

#include "record/event.h"
#include "engine/mutate-internal.h"
#include "engine/project.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ROW_MAX 4096

static const char *const routines[] = {"digest"};

bool routine_is_registered(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(routines); i++)
                if (strcmp(routines[i], name) == 0)
                        return true;
        return false;
}

static int scope_row(Txn *t, const char *name, json_t **ret) {
        Bytes v;
        int r = table_get(t, TABLE_SCOPE, BYTES_STR(name), &v);

        if (r == 0)
                r = json_parse_own(v.p, v.n, ROW_MAX, JSON_DEPTH_DEFAULT, ret);
        return r > 0 ? -EUCLEAN : r;
}

static int number_of(const json_t *row, const char *member, uint64_t *ret) {
        const json_t *v = json_object_get(row, member);

        *ret = 0;
        return v && json_get_u64(v, ret) < 0 ? -EUCLEAN : 0;
}

int pass_last(Txn *t, uint64_t scope, uint64_t *ret_number, uint64_t *ret_seq) {
        _cleanup_json_ json_t *row = NULL;
        char name[SCOPE_NAME_MAX];
        int r = scope_name_of(t, scope, name);

        if (r == 0)
                r = scope_row(t, name, &row);
        if (r == 0)
                r = number_of(row, "passes", ret_number);
        return r < 0 ? r : number_of(row, "pass", ret_seq);
}

int pass_project(Txn *t, uint64_t seq, const json_t *entry) {
        const char *name = json_text(json_object_get(entry, "name"));
        _cleanup_json_ json_t *row = NULL;
        _cleanup_free_ char *text = NULL;
        uint64_t number, last;
        size_t n;
        int r;

        if (!name || json_get_u64(json_object_get(entry, "pass"), &number) < 0)
                return -EUCLEAN;
        r = scope_row(t, name, &row);
        if (r == 0)
                r = number_of(row, "passes", &last);
        if (r < 0 || !json_equal(json_object_get(row, "created"), json_object_get(entry, "scope")) || number != last + 1)
                return r < 0 && r != -ENOENT ? r : -EUCLEAN;
        if (json_object_set_new(row, "passes", json_u64(number)) < 0 || json_object_set_new(row, "pass", json_u64(seq)) < 0)
                return -ENOMEM;
        r = json_canonical(row, &text, &n);
        return r < 0 ? r : table_put(t, TABLE_SCOPE, BYTES_STR(name), BYTES(text, n));
}

int pass_before(Txn *t, uint64_t seq, uint64_t *ret) {
        _cleanup_json_ json_t *entry = NULL;
        int r = event_get(t, seq, &entry);

        return r < 0 ? r : number_of(entry, "before", ret);
}

int pass_erase(Txn *t, uint64_t scope) {
        uint64_t number, seq;
        int r = pass_last(t, scope, &number, &seq);

        while (r == 0 && seq) {
                uint8_t key[8];

                be64_put(key, seq);
                r = table_del(t, TABLE_BODY, BYTES(key, 8));
                r = r == 0 || r == -ENOENT ? pass_before(t, seq, &seq) : r;
        }
        return r;
}

int pass_unsupported_since(Txn *t, const RecordKey *k, uint64_t *ret_pass) {
        _cleanup_json_ json_t *body = NULL;
        const json_t *list, *since;
        uint64_t number, seq;
        int r = pass_last(t, k->scope, &number, &seq);

        if (r == 0)
                r = seq ? record_body(t, seq, &body) : -ENOENT;
        if (r < 0)
                return r;
        list = json_object_get(json_object_get(body, "unsupported"), kind_name(k->kind));
        since = json_object_get(list, k->id);
        if (!since)
                return -ENOENT;
        return json_get_u64(since, ret_pass) < 0 ? -EUCLEAN : 0;
}

int pass_of_archival(Txn *t, const Record *rec, uint64_t *ret_pass) {
        _cleanup_json_ json_t *entry = NULL;
        uint64_t seq;
        int r = json_get_u64(json_object_get(rec->row, "closed"), &seq) < 0 ? -EUCLEAN : event_get(t, seq, &entry);

        if (r == 0 && json_get_u64(json_object_get(entry, "pass"), ret_pass) < 0)
                r = -EUCLEAN;
        return r;
}

static int check_removal(Txn *t, const Pass *p, const PassStep *s, const Record *rec, Diag *reterr) {
        _cleanup_free_ Ref *blockers = NULL;
        uint64_t archived;
        size_t n;
        int r = pass_of_archival(t, rec, &archived);

        if (r == 0 && archived >= p->number)
                return diag(reterr, ENGINE_E_CONFLICT, "%s %s was archived by pass %" PRIu64 ": a later one may remove it", kind_name(s->key.kind),
                            s->key.id, archived);
        if (r == 0)
                r = graph_blockers(t, &s->key, &blockers, &n);
        if (r == 0 && n > 0)
                return diag(reterr, ENGINE_E_DEPENDENTS, "%s %s is not removed: %s %s refers to it (%s)", kind_name(s->key.kind), s->key.id,
                            kind_name(blockers[0].source.kind), blockers[0].source.id, blockers[0].strong ? "strong" : "weak");
        return r;
}

static int check_step(Txn *t, const Pass *p, const PassStep *s, Diag *reterr) {
        Class c = kind_class(s->key.kind);
        _cleanup_record_ Record rec = RECORD_NULL;
        int r;

        if (c != CLASS_MEMORY && c != CLASS_KNOWLEDGE && c != CLASS_SKILL)
                return diag(reterr, ENGINE_E_BAD_OPERATION, "%s is not for cleaning up%s", kind_name(s->key.kind) ? kind_name(s->key.kind) : "?",
                            c == CLASS_KERNEL ? ": kernels are inviolate" : "");
        if (s->op != OP_ARCHIVE && s->op != OP_REMOVE)
                return diag(reterr, ENGINE_E_BAD_OPERATION, "a pass archives and removes, nothing else");
        r = record_get(t, &s->key, &rec);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no record %s of %s in scope %s", s->key.id, kind_name(s->key.kind), p->scope);
        if (r < 0)
                return r;
        if (kind_next_state(s->key.kind, s->op, rec.state) == RECORD_NONE)
                return diag(reterr, ENGINE_E_BAD_STATE, "%s %s is %s, which \"%s\" does not accept", kind_name(s->key.kind), s->key.id,
                            record_state_name(rec.state), op_name(s->op));
        if (!s->by_person && !((s->op == OP_REMOVE ? p->admitted_removal : p->admitted) & 1U << s->reason.code))
                return diag(reterr, ENGINE_E_NOT_GRANTED, "%s %s: nobody approved %s", kind_name(s->key.kind), s->key.id, reason_name(s->reason.code));
        r = reason_holds(t, &s->key, &s->reason);
        if (r == 0)
                return diag(reterr, ENGINE_E_CONFLICT, "%s %s: reason %s does not hold", kind_name(s->key.kind), s->key.id, reason_name(s->reason.code));
        if (r < 0)
                return r;
        return s->op == OP_REMOVE ? check_removal(t, p, s, &rec, reterr) : 0;
}

static int by_key(const void *a, const void *b) {
        const PassStep *x = *(const PassStep *const *)a, *y = *(const PassStep *const *)b;

        return x->key.kind != y->key.kind ? (x->key.kind > y->key.kind) - (x->key.kind < y->key.kind) : strcmp(x->key.id, y->key.id);
}

/* Each record at most once: nothing is archived and removed by one pass. */
static int check_once(const Pass *p, Diag *reterr) {
        _cleanup_free_ const PassStep **v = calloc(p->n + 1, sizeof(*v));

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < p->n; i++)
                v[i] = &p->steps[i];
        qsort(v, p->n, sizeof(*v), by_key);
        for (size_t i = 1; i < p->n; i++)
                if (by_key(&v[i - 1], &v[i]) == 0)
                        return diag(reterr, ENGINE_E_CONFLICT, "%s %s is in this pass twice: what it archives, a later one removes",
                                    kind_name(v[i]->key.kind), v[i]->key.id);
        return 0;
}

static int check(Txn *t, const Pass *p, uint64_t scope, uint64_t last, Diag *reterr) {
        int r = 0;

        if (!routine_is_registered(p->routine))
                return diag(reterr, ENGINE_E_NOT_GRANTED, "no such routine is admitted");
        if (p->number != last + 1)
                return diag(reterr, ENGINE_E_CONFLICT, "pass %" PRIu64 ": the next one of scope %s is %" PRIu64, p->number, p->scope, last + 1);
        if (p->n > PASS_STEPS_MAX)
                return diag(reterr, ENGINE_E_TOO_MANY, "%zu steps in one pass: at most %d are allowed", p->n, PASS_STEPS_MAX);
        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = p->steps[i].key.scope != scope ? diag(reterr, ENGINE_E_CROSS_SCOPE, "a step is about a record of another scope")
                                                   : check_step(t, p, &p->steps[i], reterr);
        return r == 0 ? check_once(p, reterr) : r;
}

static int refuse(Txn *t, const Pass *p, int code) {
        _cleanup_json_ json_t *fields = json_pack("{s:s, s:s*, s:s, s:o}", "code", engine_code_name((EngineCode)code), "scope",
                                                  scope_name_valid(p->scope) ? p->scope : NULL, "op", "digest", "pass", json_u64(p->number));
        int r = fields ? event_append(t, &(Event){.type = "mutation.refused", .who = p->who, .region = p->region, .fields = fields}, NULL, NULL) : -ENOMEM;

        return r < 0 ? r : code;
}

/* digest.pass, and that it was the last. before: the one before it, so that all can be found. */
static int append(Txn *t, const Pass *p, uint64_t scope, uint64_t before, uint64_t *ret_seq) {
        _cleanup_json_ json_t *fields = NULL, *entry = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n = 0, archived = 0;
        int r;

        for (size_t i = 0; i < p->n; i++)
                archived += p->steps[i].op == OP_ARCHIVE;
        fields = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o*, s:s*}", "routine", p->routine, "name", p->scope, "scope", json_u64(scope), "pass",
                           json_u64(p->number), "archived", json_u64(archived), "removed", json_u64(p->n - archived), "before",
                           before ? json_u64(before) : NULL, "proposed_by", p->proposer);
        r = fields ? json_canonical(p->record, &text, &n) : -ENOMEM;
        if (r == 0)
                r = event_append(t, &(Event){.type = "digest.pass", .who = p->who, .region = p->region, .fields = fields, .payload = text, .n_payload = n},
                                 ret_seq, NULL);
        if (r == 0)
                r = event_get(t, *ret_seq, &entry);
        return r == 0 ? project_event(t, *ret_seq, entry, NULL, NULL) : r;
}

static int apply(Txn *t, const Pass *p, const PassStep *s) {
        _cleanup_json_ json_t *fields = json_pack("{s:o, s:o}", "pass", json_u64(p->number), "reason", reason_json(&s->reason));
        uint64_t erased;
        Diag why;
        Mutated m;
        int r;

        if (!fields)
                return -ENOMEM;
        r = mutate_judged(t, &(Mutation){.scope = p->scope, .kind = s->key.kind, .op = s->op, .id = s->key.id, .expect = MUTATION_ANY, .fields = fields,
                                         .who = p->who, .region = p->region}, &m, &why);
        if (r == 0 && s->op == OP_REMOVE) /* a tombstone has no payload (M-38) */
                r = engine_erase(t, &s->key, &erased);
        return r > 0 || (r == 0 && !m.applied) ? -EUCLEAN : r;
}

int engine_pass(Txn *t, const Pass *p, uint64_t *ret_seq, Diag *reterr) {
        uint64_t scope, last, before, seq;
        Diag own;
        int r;

        reterr = reterr ? reterr : &own;
        r = scope_find(t, p->scope, &scope, reterr);
        if (r == 0)
                r = pass_last(t, scope, &last, &before);
        if (r == 0)
                r = check(t, p, scope, last, reterr);
        if (r > 0)
                return refuse(t, p, r);
        if (r == 0)
                r = append(t, p, scope, before, &seq);
        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = apply(t, p, &p->steps[i]);
        if (r < 0)
                return r;
        *ret_seq = seq;
        return ledger_want_anchor(t);
}
