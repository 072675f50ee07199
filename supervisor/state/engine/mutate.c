#include "engine/mutate.h"

#include "engine/claim.h"
#include "record/event.h"
#include "refs/graph.h"
#include "engine/lineage.h"
#include "engine/payload.h"
#include "refs/ref.h"
#include "engine/scope.h"
#include "engine/dead-letter.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Records a refusal: only the code, no text. The message may quote refused text, and the ledger cannot forget (I-2). */
static int mutation_refuse(Txn *t, const Mutation *m, int code) {
        const char *scope = m->scope ? m->scope : SCOPE_DEFAULT, *kind = kind_name(m->kind), *op = op_name(m->op);
        json_t *fields = json_pack(
                "{s:s, s:s*, s:s*, s:s*, s:s*}", "code", engine_code_name(code), "scope",
                code != ENGINE_E_KEY_ESCAPE && scope_name_valid(scope) ? scope : NULL, "kind", kind, "op", op, "id",
                code != ENGINE_E_KEY_ESCAPE && m->id && kind && record_id_valid(m->kind, m->id) ? m->id : NULL);
        int r = lineage_event_of(
                t, &(Event){.type = "mutation.refused", .region = m->region, .who = m->who, .fields = fields}, NULL);

        return r < 0 ? r : code;
}

static int mutation_scan(const Mutation *m, Diag *reterr) {
        const json_t *const parts[] = {m->payload, m->refs, m->more};
        const char *const texts[] = {m->id, m->scope};
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
                r = parts[i] ? keyscan_json(m->keys, parts[i]) : 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
                r = texts[i] ? keyscan_text(m->keys, texts[i], strlen(texts[i])) : 0;
        return r > 0 ? diag(reterr, ENGINE_E_KEY_ESCAPE, "a text of the mutation holds the key of a living region") : r;
}

/* The present record; state RECORD_NONE: no record. */
static int mutation_find(Txn *t, const Mutation *m, RecordKey *key, Record *ret, Diag *reterr) {
        uint64_t seq;
        int r;

        if (!kind_has_op(m->kind, m->op))
                return diag(reterr, ENGINE_E_BAD_OPERATION, "%s: \"%s\" is no operation of this kind",
                            kind_name(m->kind) ? kind_name(m->kind) : "no kind of record",
                            op_name(m->op) ? op_name(m->op) : "?");
        if (!m->id) {
                uint64_t last;

                r = ledger_state(t, &seq, &last);
                if (r == 0) /* the number is new */
                        snprintf(key->id, sizeof(key->id), "%.32s_%" PRIu64, kind_name(m->kind), seq);
                if (r == 0 && kind_class(m->kind) != CLASS_CANON)
                        *strrchr(key->id, '_') = '-';
        } else {
                if (!record_id_valid(m->kind, m->id))
                        return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not an id of %s: %s",
                                    DIAG_QUOTED(m->id), kind_name(m->kind), record_id_rule(m->kind));
                strcpy(key->id, m->id);
                r = 0;
        }
        if (r < 0)
                return r;
        r = dead_letter_of(t, key, &seq);
        if (r == 0)
                return diag(reterr, ENGINE_E_BLOCKED,
                            "%s %s: the projection of event seq %" PRIu64
                            " failed, and comes first: see `lethe verify`",
                            kind_name(m->kind), key->id, seq);
        r = r == -ENOENT ? record_get(t, key, ret) : r;
        if (r != -ENOENT)
                return r;
        *ret = (Record){.key = *key};
        return 0;
}

static int mutation_check_state(const Mutation *m, const char *scope, const Record *rec, RecordState *ret,
                                Diag *reterr) {
        RecordState to = kind_next_state(m->kind, m->op, rec->state);

        if (to == RECORD_NONE && rec->state == RECORD_NONE)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no record %s of %s in scope %s", rec->key.id,
                            kind_name(m->kind), scope);
        if (to == RECORD_NONE)
                return diag(reterr, m->op == OP_APPEND ? ENGINE_E_EXISTS : ENGINE_E_BAD_STATE,
                            "%s %s is %s: \"%s\" does not accept this state", kind_name(m->kind), rec->key.id,
                            record_state_name(rec->state), op_name(m->op));
        if (m->expect != MUTATION_ANY && m->expect != rec->version)
                return diag(reterr, ENGINE_E_CONFLICT, "%s %s is at version %" PRIu64 ", not at the expected %" PRIu64,
                            kind_name(m->kind), rec->key.id, rec->version, m->expect);
        *ret = to;
        return 0;
}

/* A record's type never changes. */
static int mutation_check_payload(const Mutation *m, const Record *rec, Diag *reterr) {
        if (rec->state && m->type && strcmp(m->type, record_type(rec)) != 0)
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s %s is %s: the type of a record never changes",
                            kind_name(m->kind), rec->key.id, record_type(rec));
        return record_payload_check(m->kind, m->op, rec->state ? record_type(rec) : m->type, m->payload, reterr);
}

/* Each target must exist and not be removed (M-11, M-57). */
static int mutation_check_refs(Txn *t, const Mutation *m, const char *scope, const RecordKey *key, Diag *reterr) {
        _cleanup_free_ Ref *refs = NULL;
        size_t n = 0;
        int r = m->refs ? refs_parse(key, scope, m->refs, &refs, &n, reterr) : 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                _cleanup_record_ Record target = RECORD_NULL;

                r = record_get(t, &refs[i].target, &target);
                if (r == -ENOENT || (r == 0 && target.state == RECORD_REMOVED))
                        return diag(reterr, ENGINE_E_BAD_REF, "refs: %s %s is not there in scope %s",
                                    kind_name(refs[i].target.kind), refs[i].target.id, scope);
        }
        return r;
}

static json_t *mutation_object(const Mutation *m, const json_t *given) {
        return !given ? json_object() : m->takes ? json_incref((json_t *)given) : json_copied(given);
}

/* The event's body: canonical bytes of payload, refs and the rest. */
static int mutation_body(const Mutation *m, json_t **ret, char **ret_text, size_t *ret_n, Diag *reterr) {
        _cleanup_json_ json_t *body = mutation_object(m, m->more);
        int r;

        if (!body || (m->payload && json_object_set(body, "payload", (json_t *)m->payload) < 0) ||
            (json_array_size(m->refs) > 0 && json_object_set(body, "refs", (json_t *)m->refs) < 0))
                return -ENOMEM;
        if (json_object_size(body) == 0)
                return 0;
        r = json_canonical(body, ret_text, ret_n);
        if (r == -ERANGE)
                return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                            "an integer is beyond 2^53-1, the limit of many readers: write a string");
        if (r == 0 && *ret_n > MUTATION_BODY_MAX)
                return diag(reterr, ENGINE_E_TOO_LARGE,
                            "payload, refs and further members have %zu bytes: at most %d are allowed", *ret_n,
                            MUTATION_BODY_MAX);
        if (r == 0)
                *ret = TAKE_PTR(body);
        return r;
}

/* The digest reads the member "supersedes" before acting on such a reference (graph_supersedes()). */
static bool mutation_supersedes(const Mutation *m) {
        for (size_t i = 0; m->region && m->may_supersede && i < json_array_size(m->refs); i++)
                if (json_text_is(json_object_get(json_array_get(m->refs, i), "role"), REF_ROLE_SUPERSEDES))
                        return true;
        return false;
}

/* Puts the names of opposed records into the event's fields: what was found when the record was made (G-69). */
static int mutation_put_disputes(Txn *t, const Mutation *m, const Record *rec, json_t *fields) {
        _cleanup_json_ json_t *names = json_array();
        char name[PARTY_NAME_MAX];
        Disputes d = {0};
        int r = !names ? -ENOMEM
                : op_creates(m->op) || m->op == OP_SAVE
                        ? disputes_to_be(t, &rec->key, rec->state ? record_type(rec) : m->type, m->payload, m->refs, &d)
                        : 0;

        for (size_t i = 0; r == 0 && i < d.n; i++)
                if (json_array_append_new(names, json_string(party_name(&d.v[i], name))) < 0)
                        r = -ENOMEM;
        return r < 0 || d.n == 0 ? r : json_object_set(fields, "disputes", names) < 0 ? -ENOMEM : 0;
}

static int mutation_append(Txn *t, const Mutation *m, const Record *rec, RecordState to, const char *text, size_t n,
                           uint64_t *ret_seq, json_t **ret_entry) {
        const char *prefix = kind_class(m->kind) == CLASS_CANON    ? "canon"
                             : kind_class(m->kind) == CLASS_KERNEL ? "kernel"
                             : kind_class(m->kind) == CLASS_CCS    ? "ccs"
                                                                   : "memory";
        _cleanup_json_ json_t *fields = mutation_object(m, m->fields);
        char type[32];
        int r = fields ? mutation_put_disputes(t, m, rec, fields) : -ENOMEM;

        if (r < 0)
                return r;
        snprintf(type, sizeof(type), "%s.%s", prefix, op_name(m->op));
        if ((json_put(fields, "scope", json_u64(rec->key.scope)) |
                        json_put(fields, "kind", json_string_nocheck(kind_name(m->kind))) |
                        json_put(fields, "id", json_string(rec->key.id)) |
                        json_put(fields, "version", json_u64(rec->version + 1)) |
                        json_put(fields, "state", json_string_nocheck(record_state_name(to))) |
                        (!rec->state && m->type ? json_put(fields, "of", json_string(m->type)) : 0) |
                        (mutation_supersedes(m) ? json_put(fields, "supersedes", json_true()) : 0)) != 0)
                return -ENOMEM;
        return event_record(t,
                            &(Event){.type = type, .region = m->region, .who = m->who, .fields = TAKE_PTR(fields),
                                     .payload = text, .n_payload = n}, ret_seq, ret_entry);
}

/* Archiving, removing and deleting need a judge: a pass of the digest, or a deletion with a check of the dependents
 * (M-34, M-36, M-54). */
static int mutation_check_judged(const Mutation *m, bool judged, Diag *reterr) {
        if (!judged && m->op == OP_PATCH && m->expect == MUTATION_ANY) /* M-28 */
                return diag(reterr, ENGINE_E_CONFLICT, "%s: a patch needs the expected version", kind_name(m->kind));
        if (!judged && kind_class(m->kind) == CLASS_CCS && m->op == OP_SAVE) /* C-36 */
                return diag(reterr, ENGINE_E_BAD_OPERATION, "%s: written by the turns of a cognitive session alone",
                            kind_name(m->kind));
        if (judged || (m->op != OP_ARCHIVE && m->op != OP_REMOVE && m->op != OP_DELETE))
                return 0;
        return diag(reterr, ENGINE_E_BAD_OPERATION, "%s: \"%s\" is done by %s alone", kind_name(m->kind),
                    op_name(m->op),
                    m->op == OP_DELETE ? "a deletion with a check of the dependents" : "a pass of the digest");
}

static int mutation_run(Txn *t, const Mutation *m, bool judged, Mutated *ret, Diag *reterr) {
        const char *scope = m->scope ? m->scope : SCOPE_DEFAULT;
        _cleanup_json_ json_t *body = NULL, *entry = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_free_ char *text = NULL;
        RecordKey key = {.kind = m->kind};
        RecordState to = RECORD_NONE;
        Mutated done;
        size_t n = 0;
        char of_region[REGION_ID_MAX + 8];
        uint64_t seq;
        int r;

        if (!m->who)
                snprintf(of_region, sizeof(of_region), "region:%s", m->region ? m->region : "");
        r = mutation_scan(m, reterr)
                ?: engine_scope_need(t, m->who ? m->who : of_region, scope, &key.scope, reterr)
                ?: mutation_find(t, m, &key, &rec, reterr)
                ?: mutation_check_state(m, scope, &rec, &to, reterr)
                ?: mutation_check_judged(m, judged, reterr)
                ?: mutation_check_payload(m, &rec, reterr)
                ?: mutation_check_refs(t, m, scope, &key, reterr)
                ?: mutation_body(m, &body, &text, &n, reterr);
        if (r > 0)
                return mutation_refuse(t, m, r);
        if (r == 0)
                r = mutation_append(t, m, &rec, to, text, n, &seq, &entry);
        if (r < 0)
                return r;
        done = (Mutated){.seq = seq, .version = rec.version + 1, .state = to, .created = rec.state == RECORD_NONE};
        r = dead_letter_project(t, seq, entry, body, &rec);
        if (r < 0)
                return r;
        done.applied = r == 0;
        *ret = done;
        strcpy(ret->id, key.id);
        return m->one_of_many ? 0 : ledger_want_anchor(t);
}

int engine_mutate(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr) {
        return mutation_run(t, m, false, ret, reterr);
}

int engine_mutate_ccs(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr) {
        assert(kind_class(m->kind) == CLASS_CCS && m->op == OP_SAVE);
        return mutation_run(t, m, true, ret, reterr);
}

int engine_mutation_refused(Txn *t, const Mutation *m, EngineCode code) {
        int r = mutation_refuse(t, m, (int)code);

        return r < 0 ? r : 0;
}

int mutate_judged(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr) {
        return mutation_run(t, m, true, ret, reterr);
}

int engine_erase(Txn *t, const RecordKey *k, uint64_t *ret_n) {
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t seq, n = 0;
        Op op;
        int r = change_walk(t, k, &w);

        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0) {
                uint8_t key[8];

                if (op == OP_DELETE) /* the event of a deletion keeps its body, the reason */
                        continue;
                r = table_del(t, TABLE_BODY, seq_key(seq, key));
                n += r == 0;
                if (r == -ENOENT)
                        r = 0;
        }
        if (r != -ENOENT)
                return r;
        *ret_n = n;
        return 0;
}
