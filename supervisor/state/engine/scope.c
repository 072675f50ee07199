#include "engine/scope.h"

#include "base/id.h"
#include "engine/note.h"
#include "engine/pass-history.h"
#include "engine/region-row.h"
#include "engine/wait.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

static int scope_row_number(Bytes v, uint64_t *ret) {
        _cleanup_json_ json_t *row = NULL;
        int r = json_row_parse(v, 4096, &row);

        return r == 0 && json_get_u64(json_object_get(row, "created"), ret) < 0 ? -EUCLEAN : r;
}

int scope_get(Txn *t, const char *name, uint64_t *ret_scope) {
        Bytes v;
        int r = scope_name_valid(name) ? table_get(t, TABLE_SCOPE, BYTES_STR(name), &v) : -ENOENT;

        return r < 0 ? r : scope_row_number(v, ret_scope);
}

int scope_find(Txn *t, const char *name, uint64_t *ret_scope, Diag *reterr) {
        int r;

        if (!scope_name_valid(name))
                return diag(reterr, ENGINE_E_BAD_NAME,
                            "\"%s\" is not a scope's name: a-z or 0-9, then at most 63 of a-z 0-9 . _ -",
                            DIAG_QUOTED(name));
        r = scope_get(t, name, ret_scope);
        return r == -ENOENT ? diag(reterr, ENGINE_E_NO_SCOPE, "there is no scope %s", name) : r;
}

int scope_name_of(Txn *t, uint64_t scope, char ret[static SCOPE_NAME_MAX]) {
        _cleanup_json_ json_t *entry = NULL;
        const char *name;
        uint64_t now;
        int r = event_get(t, scope, &entry);

        if (r < 0)
                return r;
        name = json_text(json_object_get(entry, "name"));
        if (!name || scope_get(t, name, &now) < 0 || now != scope)
                return -ENOENT;
        strcpy(ret, name);
        return 0;
}

int scope_others_have(Txn *t, uint64_t scope, Kind kind, const char *id) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open(t, TABLE_SCOPE, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                RecordKey key = record_key_of(0, kind, id);
                uint8_t raw[RECORD_KEY_MAX];
                Bytes row;

                r = scope_row_number(v, &key.scope);
                if (r == 0 && key.scope != scope) {
                        r = table_get(t, TABLE_REC, BYTES(raw, record_key(&key, raw)), &row);
                        r = r == -ENOENT ? 0 : r == 0 ? 1 : r;
                }
                if (r == -EUCLEAN) /* skip a damaged scope */
                        r = 0;
        }
        return r == -ENOENT ? 0 : r;
}

int scope_list(Txn *t, json_t **ret) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = list ? cursor_open(t, TABLE_SCOPE, BYTES(NULL, 0), &c) : -ENOMEM;

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                _cleanup_json_ json_t *entry = NULL;
                uint64_t seq;

                r = scope_row_number(v, &seq) ?: event_get(t, seq, &entry);
                if (r == 0 &&
                    json_array_append_new(list, json_pack("{s:s%, s:o, s:O, s:O*}", "scope", k.p, (size_t)k.n, "seq",
                                                          json_u64(seq), "time", json_object_get(entry, "time"), "who",
                                                          json_object_get(entry, "who"))) < 0)
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

int engine_scope_create(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr) {
        uint64_t seq;
        int r = scope_find(t, name, &seq, reterr);

        if (r == 0)
                return diag(reterr, ENGINE_E_EXISTS, "scope %s exists already (seq %llu)", name,
                            (unsigned long long)seq);
        if (r != ENGINE_E_NO_SCOPE)
                return r;
        return project_append(
                t, &(Event){.type = "scope.created", .who = who, .fields = json_pack("{s:s}", "name", name)},
                ret_scope);
}

int engine_scope_need(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr) {
        int r = scope_find(t, name, ret_scope, reterr);

        return r == ENGINE_E_NO_SCOPE && strcmp(name, SCOPE_DEFAULT) == 0
                       ? engine_scope_create(t, who, name, ret_scope, reterr)
                       : r;
}

/* Erases the payloads of all events about the scope: of records, passes and pending requests. */
static int scope_erase(Txn *t, uint64_t scope) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t prefix[8];
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_CHANGE, seq_key(scope, prefix), sizeof(prefix), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0)
                r = k.n < 9 + 8 ? -EUCLEAN : body_del(t, be64_get((const uint8_t *)k.p + k.n - 8));
        return r == -ENOENT ? pass_erase(t, scope) ?: wait_erase(t, scope) : r;
}

/* The scope of an open session is its session's: the next turn would find nothing. */
static int scope_check_driven(Txn *t, const char *name, Diag *reterr) {
        const char *session = name + sizeof(SCOPE_CCS) - 1;
        _cleanup_json_ json_t *row = NULL;
        int r;

        if (strncmp(name, SCOPE_CCS, sizeof(SCOPE_CCS) - 1) != 0 || !region_id_valid(session))
                return 0;
        r = region_json_get(t, session, &row);
        if (r == 0 && json_text_is(json_object_get(json_object_get(json_object_get(row, "session"), "cognition"), "ccs"), name))
                return diag(reterr, ENGINE_E_DRIVEN,
                            "scope %s is of session %s, which is open: `lethe session close --erase %s` ends the session and "
                            "deletes the scope", name, session, session);
        return r == ENGINE_E_NO_REGION ? 0 : r;
}

int engine_scope_delete(Txn *t, const char *who, const char *name, const char *reason, uint64_t *ret_seq,
                        uint64_t *ret_records, Diag *reterr) {
        return scope_check_driven(t, name, reterr)
                       ?: engine_scope_erase(t, &(ScopeErase){.name = name, .reason = reason, .who = who}, ret_seq,
                                             ret_records, reterr);
}

int engine_scope_erase(Txn *t, const ScopeErase *e, uint64_t *ret_seq, uint64_t *ret_records, Diag *reterr) {
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t scope, n = 0;
        json_t *fields;
        int r = scope_find(t, e->name, &scope, reterr) ?: engine_runs_end(t, e->who, scope, reterr);

        if (r != 0)
                return r;
        r = record_walk(t, scope, KIND_NONE, &w);
        while (r == 0 && (r = record_walk_next(&w, &rec)) == 0)
                n++;
        if (r != -ENOENT)
                return r;
        record_walk_deinit(&w);
        r = scope_erase(t, scope);
        if (r < 0)
                return r;
        fields = json_pack("{s:s, s:o, s:o, s:s*}", "name", e->name, "scope", json_u64(scope), "records", json_u64(n),
                           "reason", e->reason);
        r = project_append(t, &(Event){.type = "scope.deleted", .who = e->who, .region = e->region, .fields = fields},
                           ret_seq);
        if (r == 0)
                *ret_records = n;
        return r;
}
