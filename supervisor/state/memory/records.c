#include "memory/records.h"

#include "base/clock.h"
#include "record/event.h"
#include "refs/graph.h"
#include "engine/claim.h"
#include "engine/payload.h"
#include "memory/refs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define TEXT_MAX 120

const Kind memory_families[] = {KIND_MEMORY, KIND_KNOWLEDGE, KIND_SKILL};

bool memory_is_family(Kind k) {
        Class c = kind_class(k);

        return c == CLASS_MEMORY || c == CLASS_KNOWLEDGE || c == CLASS_SKILL;
}

int memory_family(const char *name, Kind *ret, Diag *reterr) {
        Kind k = kind_from_name(name);

        for (size_t i = 0; i < ARRAY_SIZE(memory_families); i++)
                if (strcmp(class_name(kind_class(memory_families[i])), name) == 0)
                        k = memory_families[i];
        if (!memory_is_family(k))
                return diag(reterr, ENGINE_E_BAD_OPERATION,
                            "\"%s\" is none of memory_substrate, knowledge_projections, skill_artifacts%s",
                            DIAG_QUOTED(name), kind_class(k) == CLASS_KERNEL    ? ": kernels are patched"
                            : kind_class(k) == CLASS_WORKING ? ": working state is not stored"
                            : kind_class(k) == CLASS_CCS ? ": the turns of a cognitive session write those (`lethe ccs`)"
                            : kind_class(k) == CLASS_CANON ? ": governed memory is written by the promotion of notes"
                                                           : "");
        *ret = k;
        return 0;
}

int memory_key(Txn *t, const char *scope, Kind kind, const char *id, RecordKey *ret, Diag *reterr) {
        uint64_t number;
        int r = scope_find(t, scope, &number, reterr);

        if (r != 0)
                return r;
        if (!record_id_valid(kind, id))
                return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not an id of %s: %s",
                            DIAG_QUOTED(id), kind_name(kind), record_id_rule(kind));
        *ret = record_key_of(number, kind, id);
        return 0;
}

int memory_find(Txn *t, const char *scope, Kind kind, const char *id, Record *ret, Diag *reterr) {
        RecordKey k;
        int r = memory_key(t, scope, kind, id, &k, reterr);

        if (r != 0)
                return r;
        r = record_get(t, &k, ret);
        if (r == -ENOENT)
                r = diag(reterr, ENGINE_E_NO_RECORD, "there is no record %s of %s in scope %s", id, kind_name(kind),
                         scope);
        return r;
}

/* In the order of reading: the subject first, the rest by the members' names. */
static json_t *records_reading_order(const json_t *payload) {
        static const char *const first[] = {"title", "name", "subject", "predicate", "object", "observed", "summary"};
        _cleanup_json_ json_t *rest = json_copied(payload), *parts = json_array();

        if (!rest || !parts)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
                if (!json_object_get(rest, first[i]))
                        continue;
                if (json_array_append(parts, json_object_get(rest, first[i])) < 0 ||
                    json_object_del(rest, first[i]) < 0)
                        return NULL;
        }
        return json_array_append(parts, rest) < 0 ? NULL : TAKE_PTR(parts);
}

/* A single line. Line feeds, tabs, carriage returns (a terminal overwrites the line after one) and other ASCII control
 * characters, which older records may have, become blanks. */
static int records_text(const json_t *payload, char **ret, size_t *ret_n) {
        _cleanup_json_ json_t *ordered = records_reading_order(payload);
        int r = ordered ? payload_text(ordered, ret, ret_n) : -ENOMEM;

        if (r < 0)
                return r;
        for (size_t i = 0; i < *ret_n; i++)
                if ((unsigned char)(*ret)[i] < ' ' || (*ret)[i] == 0x7F)
                        (*ret)[i] = ' ';
        if (*ret_n > 0)
                (*ret)[--*ret_n] = 0; /* the last line's end */
        return 0;
}

static json_t *records_begin(const char *text, size_t n, size_t most) {
        if (n > most)
                for (n = most; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
                        n--;
        return json_stringn(text, n);
}

json_t *memory_text(const json_t *payload, size_t most) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        return records_text(payload, &text, &n) == 0 ? records_begin(text, n, most) : NULL;
}

/* Checks the payload again: bytes that were changed in the store are an error. Rules for characters apply only when a
 * record is saved, because older records were saved under weaker rules. */
static int records_payload(Txn *t, const Record *rec, json_t **ret) {
        int r = record_payload(t, rec, ret);
        Op op = kind_class(rec->key.kind) == CLASS_KERNEL ? OP_PATCH : OP_SAVE;
        int e = r == 0 && rec->content ? payload_check(rec->key.kind, op, record_type(rec), *ret, NULL) : 0;

        if (e != 0 && e != PAYLOAD_E_CONTROL && e != PAYLOAD_E_EMPTY) {
                json_decref(TAKE_PTR(*ret));
                return -EUCLEAN;
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

static int records_refs_out(Txn *t, const RecordKey *k, json_t *list) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(t, k, false, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0)
                if (json_array_append_new(list, memory_edge(&ref.target, &ref, NULL)) < 0)
                        r = -ENOMEM;
        return r == -ENOENT ? 0 : r;
}

static int records_put_payload(Txn *t, const Record *rec, json_t *o) {
        _cleanup_json_ json_t *payload = NULL, *entry = NULL;
        int r;

        if (rec->state != RECORD_REMOVED) {
                r = records_payload(t, rec, &payload);
                return r < 0 ? r : json_object_set(o, "payload", payload) < 0 ? -ENOMEM : 0;
        }
        r = event_get(t, rec->content, &entry);
        return r < 0 ? r : json_object_set(o, "erased", json_object_get(entry, "body")) < 0 ? -EUCLEAN : 0;
}

static json_t *records_head(const char *scope, const Record *rec, json_t *refs) {
        return json_pack("{s:s, s:s, s:s, s:s*, s:s, s:o, s:o, s:o, s:O}", "scope", scope, "kind",
                         kind_name(rec->key.kind), "id", rec->key.id, "type",
                         *record_type(rec) ? record_type(rec) : NULL, "state", record_state_name(rec->state), "version",
                         json_u64(rec->version), "created", json_u64(rec->created), "last", json_u64(rec->last), "refs",
                         refs);
}

int memory_load(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL, *refs = json_array();
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = refs ? memory_find(t, scope, kind, id, &rec, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        o = records_head(scope, &rec, refs);
        r = o ? records_put_payload(t, &rec, o) : -ENOMEM;
        if (r == 0)
                r = records_refs_out(t, &rec.key, refs) ?: disputes_put(t, &rec, o);
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}

/* The references of a version: of the event with the content. */
static int records_refs_then(Txn *t, const Record *rec, const char *scope, json_t *list) {
        _cleanup_json_ json_t *body = NULL;
        _cleanup_free_ Ref *refs = NULL;
        size_t n = 0;
        int r = record_body(t, rec->content, &body);

        if (r == 0 && json_object_get(body, "refs"))
                r = refs_parse(&rec->key, scope, json_object_get(body, "refs"), &refs, &n, NULL);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (json_array_append_new(list, memory_edge(&refs[i].target, &refs[i], NULL)) < 0)
                        r = -ENOMEM;
        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

static int records_find_past(Txn *t, const char *scope, const RecordKey *k, uint64_t version, uint64_t upto,
                             Record *ret, Diag *reterr) {
        uint64_t newest = 0;
        int r = version ? past_version(t, k, version, &upto, &newest) : 0;

        if (r == -ENOENT && newest > 0)
                return diag(reterr, ENGINE_E_NO_RECORD,
                            "record %s of %s has no version %" PRIu64 ": it has 1 to %" PRIu64, k->id,
                            kind_name(k->kind), version, newest);
        r = r ?: past_record(t, k, upto, ret);
        return r == -ENOENT ? diag(reterr, ENGINE_E_NO_RECORD, "there %s no record %s of %s in scope %s",
                                   version ? "is" : "was", k->id, kind_name(k->kind), scope)
                            : r;
}

int memory_load_past(Txn *t, const char *scope, Kind kind, const char *id, uint64_t version, uint64_t upto,
                     json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL, *refs = json_array(), *payload = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        RecordKey k;
        int r = refs ? memory_key(t, scope, kind, id, &k, reterr) : -ENOMEM;

        r = r ?: records_find_past(t, scope, &k, version, upto, &rec, reterr);
        if (r != 0)
                return r;
        r = record_payload(t, &rec, &payload);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_ERASED, "record %s of %s: the content of version %" PRIu64 " is erased",
                            id, kind_name(kind), rec.version);
        json_decref(TAKE_PTR(payload));
        r = r ?: records_payload(t, &rec, &payload) ?: records_refs_then(t, &rec, scope, refs);
        if (r < 0)
                return r;
        o = records_head(scope, &rec, refs);
        if (!o || json_object_set(o, "payload", payload) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

static int records_refers_to(Txn *t, const Record *rec, Kind kind, const char *id) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(t, &rec->key, false, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0)
                if (ref.target.kind == kind && strcmp(ref.target.id, id) == 0)
                        return 1;
        return r == -ENOENT ? 0 : r;
}

int memory_row(Txn *t, const RecordFilter *f, const MemoryQuery *q, const Record *rec, json_t **ret_row,
               size_t *ret_text) {
        _cleanup_json_ json_t *payload = NULL, *entry = NULL, *begin = NULL;
        _cleanup_free_ char *text = NULL;
        const char *time, *said;
        uint64_t usec;
        size_t n = 0;
        int r;

        *ret_text = 0;
        if (!memory_is_family(rec->key.kind) || !filter_takes_kind(f, rec->key.kind, record_type(rec)) ||
            !filter_takes_id(f, rec->key.id))
                return 0;
        if (f->states ? !filter_takes_state(f, rec->state) : rec->state == RECORD_REMOVED)
                return 0;
        r = f->ref_kind ? records_refers_to(t, rec, f->ref_kind, f->ref_id) : 1;
        if (r <= 0)
                return r;
        r = event_get(t, rec->created, &entry);
        time = json_text(json_object_get(entry, "time"));
        if (r == 0 && (!time || clock_parse(time, &usec) < 0))
                r = -EUCLEAN;
        if (r == 0 && rec->state != RECORD_REMOVED)
                r = records_payload(t, rec, &payload);
        if (r == 0 && payload)
                r = records_text(payload, &text, &n);
        if (r < 0)
                return r;
        said = text ?: ""; /* a removed record has no text */
        *ret_text = n;
        if (!filter_takes_time(f, usec) || !filter_takes_text(f, said, n) || (q && !query_phrases_in(q, &said, &n, 1)))
                return 0;
        begin = records_begin(said, n, TEXT_MAX);
        *ret_row = json_pack("{s:s, s:s, s:s*, s:s, s:o, s:o, s:s, s:O*}", "kind", kind_name(rec->key.kind), "id",
                             rec->key.id, "type", *record_type(rec) ? record_type(rec) : NULL, "state",
                             record_state_name(rec->state), "version", json_u64(rec->version), "created",
                             json_u64(rec->created), "time", time, "text", begin);
        r = *ret_row && begin ? disputes_put(t, rec, *ret_row) : -ENOMEM;
        if (r < 0)
                json_decref(TAKE_PTR(*ret_row));
        return r ?: 1;
}
