#include "engine/project.h"

#include "engine/claim.h"
#include "engine/dispute.h"
#include "engine/pass-history.h"
#include "record/record.h"
#include "refs/ref.h"
#include "engine/known-names.h"
#include "engine/wait.h"
#include "engine/wait-age.h"

#include <errno.h>
#include <string.h>

const Table projected_tables[] = {
        TABLE_SLOT, TABLE_HIST, TABLE_HELD, TABLE_SKILL, TABLE_GATHER, TABLE_VERDICT, TABLE_SCOPE, TABLE_REC,
        TABLE_CHANGE, TABLE_REF, TABLE_RREF, TABLE_TERM, TABLE_DOC, TABLE_WAIT, TABLE_UNAPPLIED, TABLE_OBJECT, TABLE_DUE,
        TABLE_WAKE, TABLE_CLAIM, TABLE_COMMITS, TABLE_ROUND, TABLE_COUNT_,
};

/* "canon.resolve": the operation on a record. OP_NONE for events of other types. */
static Op project_op(const char *type) {
        const char *dot = strchr(type, '.');
        size_t n = dot ? (size_t)(dot - type) : 0;

        if ((n == 3 && memcmp(type, "ccs", n) == 0) || (n == 5 && memcmp(type, "canon", n) == 0) ||
            (n == 6 && (memcmp(type, "memory", n) == 0 || memcmp(type, "kernel", n) == 0)))
                return op_from_name(dot + 1);
        return OP_NONE;
}

static int project_scope_created(Txn *t, const Projection *p) {
        static const Kind kernels[] = {KIND_AGENT_KERNEL, KIND_WORLD_KERNEL};
        const char *name = json_text(json_object_get(p->entry, "name"));
        _cleanup_json_ json_t *row = json_pack("{s:o}", "created", json_u64(p->seq));
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        if (!row)
                return -ENOMEM;
        if (!name || !scope_name_valid(name))
                return -EUCLEAN;
        r = json_canonical(row, &text, &n) ?: table_add(t, TABLE_SCOPE, BYTES_STR(name), BYTES(text, n));
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kernels); i++) {
                _cleanup_record_ Record rec = {.key = record_key_of(p->seq, kernels[i], "kernel"),
                                               .state = RECORD_ACTIVE,
                                               .version = 1,
                                               .created = p->seq,
                                               .last = p->seq,
                                               .row = json_object()};

                r = rec.row ? record_put(t, &rec) : -ENOMEM;
        }
        return r == -EEXIST ? -EUCLEAN : r;
}

static int project_scope_deleted(Txn *t, const Projection *p) {
        static const Table owned[] = {TABLE_REC, TABLE_CHANGE, TABLE_REF, TABLE_RREF,
                                      TABLE_TERM, TABLE_DOC,    TABLE_CLAIM, TABLE_COMMITS};
        const char *name = json_text(json_object_get(p->entry, "name"));
        uint64_t scope;
        uint8_t key[8];
        int r;

        if (!name || json_get_u64(json_object_get(p->entry, "scope"), &scope) < 0)
                return -EUCLEAN;
        r = table_del(t, TABLE_SCOPE, BYTES_STR(name));
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(owned); i++)
                r = table_del_prefix(t, owned[i], seq_key(scope, key));
        if (r == 0)
                r = wait_project_forget(t, scope);
        return r == -ENOENT ? -EUCLEAN : r;
}

static const struct ProjectType {
        const char *type;
        int (*project)(Txn *t, const Projection *p);
} types[] = {
        {"note.pending", wait_project_pending},     {"pending.retried", wait_project_retried},
        {"pending.dropped", wait_project_dropped},  {"pending.expired", wait_project_expired},
        {"pending.erased", wait_project_erased},    {"scope.created", project_scope_created},
        {"scope.deleted", project_scope_deleted},   {"digest.pass", pass_project},
        {"dispute.settled", dispute_project},
};

static const struct ProjectType *project_type(const char *type) {
        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                if (strcmp(types[i].type, type) == 0)
                        return &types[i];
        return NULL;
}

bool project_concerns(const char *type) {
        return project_op(type) != OP_NONE || project_type(type);
}

typedef struct ProjectStep {
        uint64_t seq;
        Op op;
        RecordState to;
        const json_t *entry, *body;
} ProjectStep;

static int project_refs(Txn *t, const ProjectStep *s, const Record *rec) {
        _cleanup_free_ Ref *refs = NULL;
        size_t n = 0;
        int r = 0;

        if (s->op == OP_SAVE || s->op == OP_PATCH)
                r = s->body ? refs_parse(&rec->key, NULL, json_object_get(s->body, "refs"), &refs, &n, NULL) : 0;
        else if (s->op != OP_REMOVE && s->op != OP_DELETE)
                return 0;
        return r > 0 ? -EUCLEAN : r < 0 ? r : refs_replace(t, &rec->key, refs, n, s->seq);
}

/* Updates the members of the row. */
static int project_change_row(const ProjectStep *s, Record *rec) {
        json_t *of = json_object_get(s->entry, "of"), *agent = json_object_get(s->entry, "agent");
        int r = 0;

        switch (s->op) {
        case OP_UPSERT:
        case OP_APPEND:
        case OP_SAVE:
        case OP_PATCH:
                rec->content = s->seq;
                json_object_del(rec->row, "closed");
                if (of)
                        r |= json_object_set(rec->row, "type", of);
                break;
        case OP_RESOLVE:
        case OP_INVALIDATE:
        case OP_ARCHIVE:
        case OP_REMOVE:
                r |= json_object_set_new(rec->row, "closed", json_u64(s->seq));
                break;
        case OP_RESTORE:
                json_object_del(rec->row, "closed");
                break;
        case OP_DELETE:
        case OP_NONE:
                break;
        }
        if (agent)
                r |= json_object_set(rec->row, "agent", agent);
        return r ? -ENOMEM : kind_class(rec->key.kind) == CLASS_CANON ? refmem_grow(rec, s->body) : 0;
}

static int project_take_step(const ProjectStep *s, Record *rec) {
        int r = project_change_row(s, rec);

        rec->state = s->to;
        rec->version++;
        rec->last = s->seq;
        return r;
}

static int project_begin_record(Record *rec, uint64_t seq) {
        rec->created = seq;
        rec->row = json_object();
        return rec->row ? 0 : -ENOMEM;
}

int project_fold_record(Record *rec, uint64_t seq, Op op, const json_t *entry, const json_t *body) {
        ProjectStep s = {.seq = seq, .op = op, .to = kind_next_state(rec->key.kind, op, rec->state), .entry = entry,
                         .body = body};
        int r = rec->state == RECORD_NONE ? project_begin_record(rec, seq) : 0;

        return r < 0 ? r : s.to == RECORD_NONE ? -EUCLEAN : project_take_step(&s, rec);
}

static int project_record_changed(Txn *t, const ProjectStep *s, Record *rec) {
        uint64_t wait;
        int r = project_take_step(s, rec);

        if (r == 0)
                r = project_refs(t, s, rec) ?: change_put(t, &rec->key, s->seq, s->op);
        if (r == 0)
                r = s->op == OP_DELETE ? record_del(t, &rec->key) : record_put(t, rec);
        if (r == 0)
                r = refmem_index(t, rec, s->op, s->body) ?: claims_project(t, rec, s->op, s->body);
        if (r == 0 && kind_class(rec->key.kind) == CLASS_CANON)
                r = wait_count_commit(t, rec->key.scope);
        if (r == 0 && json_get_u64(json_object_get(s->entry, "pending"), &wait) == 0)
                r = wait_project_resolved(t, wait, s->seq);
        return r;
}

/* The event's record before the event; state RECORD_NONE: no row. */
static int project_take_record(Txn *t, const RecordKey *key, Record *read, Record *ret) {
        int r;

        if (read && read->key.scope == key->scope && read->key.kind == key->kind &&
            strcmp(read->key.id, key->id) == 0) {
                *ret = *read;
                *read = RECORD_NULL;
                return 0;
        }
        r = record_get(t, key, ret);
        if (r != -ENOENT)
                return r;
        *ret = (Record){.key = *key};
        return 0;
}

static int project_record_event(Txn *t, uint64_t seq, Op op, const json_t *entry, const json_t *body, Record *read) {
        const char *kind = json_text(json_object_get(entry, "kind")), *id = json_text(json_object_get(entry, "id")),
                   *state = json_text(json_object_get(entry, "state"));
        _cleanup_record_ Record rec = RECORD_NULL;
        ProjectStep s = {.seq = seq, .op = op, .entry = entry, .body = body};
        uint64_t scope, version;
        RecordKey key;
        Kind k;
        int r;

        if (!kind || !id || !state || !(k = kind_from_name(kind)) || !record_id_valid(k, id) ||
            json_get_u64(json_object_get(entry, "scope"), &scope) < 0 ||
            json_get_u64(json_object_get(entry, "version"), &version) < 0)
                return -EUCLEAN;
        key = record_key_of(scope, k, id);
        r = project_take_record(t, &key, read, &rec);
        if (r == 0 && rec.state == RECORD_NONE)
                r = project_begin_record(&rec, seq);
        if (r < 0)
                return r;
        s.to = kind_next_state(k, op, rec.state);
        if (s.to == RECORD_NONE || strcmp(record_state_name(s.to), state) != 0 || version != rec.version + 1)
                return -EUCLEAN;
        return project_record_changed(t, &s, &rec);
}

int project_event(Txn *t, uint64_t seq, const json_t *entry, const json_t *body, Record *read) {
        const char *type = json_text(json_object_get(entry, "type"));
        const struct ProjectType *found = type ? project_type(type) : NULL;
        Op op = type ? project_op(type) : OP_NONE;

        if (op != OP_NONE)
                return project_record_event(t, seq, op, entry, body, read);
        return found ? found->project(t, &(Projection){.seq = seq, .entry = entry, .body = body}) : -EUCLEAN;
}

int project_append(Txn *t, const Event *e, uint64_t *ret_seq) {
        _cleanup_json_ json_t *entry = NULL;
        uint64_t seq;
        int r = event_record(t, e, &seq, &entry) ?: project_event(t, seq, entry, e->json, NULL);

        if (r == 0 && ret_seq)
                *ret_seq = seq;
        return r;
}
