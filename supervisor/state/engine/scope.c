#include "engine/scope.h"

#include "record/event.h"
#include "engine/note.h"
#include "engine/pass.h"
#include "engine/project.h"
#include "engine/wait.h"

#include <errno.h>
#include <string.h>

static int row_number(Bytes v, uint64_t *ret) {
        _cleanup_json_ json_t *row = NULL;
        int r = json_parse_own(v.p, v.n, 4096, JSON_DEPTH_DEFAULT, &row);

        if (r == 0 && json_get_u64(json_object_get(row, "created"), ret) < 0)
                r = -EUCLEAN;
        return r > 0 ? -EUCLEAN : r;
}

int scope_get(Txn *t, const char *name, uint64_t *ret_scope) {
        Bytes v;
        int r = scope_name_valid(name) ? table_get(t, TABLE_SCOPE, BYTES_STR(name), &v) : -ENOENT;

        return r < 0 ? r : row_number(v, ret_scope);
}

static int bad_name(const char *name, Diag *reterr) {
        char quoted[400];

        return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not a scope's name: a-z or 0-9, then at most 63 of a-z 0-9 . _ -",
                    diag_quote(name, strlen(name), quoted, sizeof(quoted)));
}

int scope_find(Txn *t, const char *name, uint64_t *ret_scope, Diag *reterr) {
        int r;

        if (!scope_name_valid(name))
                return bad_name(name, reterr);
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

                r = row_number(v, &key.scope);
                if (r == 0 && key.scope != scope) {
                        r = table_get(t, TABLE_REC, BYTES(raw, record_key(&key, raw)), &row);
                        r = r == -ENOENT ? 0 : r == 0 ? 1 : r;
                }
                if (r == -EUCLEAN) /* of a scope that is damaged nobody else's notes depend */
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

                r = row_number(v, &seq);
                if (r == 0)
                        r = event_get(t, seq, &entry);
                if (r == 0 && json_array_append_new(list, json_pack("{s:s%, s:o, s:O, s:O*}", "scope", k.p, (size_t)k.n, "seq", json_u64(seq), "time",
                                                                    json_object_get(entry, "time"), "who", json_object_get(entry, "who"))) < 0)
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

int engine_scope_create(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL, *entry = NULL;
        uint64_t seq;
        int r;

        if (!scope_name_valid(name))
                return bad_name(name, reterr);
        r = scope_get(t, name, &seq);
        if (r == 0)
                return diag(reterr, ENGINE_E_EXISTS, "scope %s is there already (seq %llu)", name, (unsigned long long)seq);
        if (r != -ENOENT)
                return r;
        fields = json_pack("{s:s}", "name", name);
        if (!fields)
                return -ENOMEM;
        r = event_record(t, &(Event){.type = "scope.created", .who = who, .fields = fields}, &seq, &entry);
        if (r == 0)
                r = project_event(t, seq, entry, NULL, NULL);
        if (r == 0)
                *ret_scope = seq;
        return r;
}

int engine_scope_need(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr) {
        int r = scope_find(t, name, ret_scope, reterr);

        return r == ENGINE_E_NO_SCOPE && strcmp(name, SCOPE_DEFAULT) == 0 ? engine_scope_create(t, who, name, ret_scope, reterr) : r;
}

/* Every payload that an event about this scope has: those of its records, and of what waits. */
static int erase_all(Txn *t, uint64_t scope) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t prefix[8];
        Bytes k, v;
        int r;

        be64_put(prefix, scope);
        r = cursor_open(t, TABLE_CHANGE, BYTES(prefix, 8), &c);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0 && bytes_begin(k, BYTES(prefix, 8))) {
                if (k.n < 9 + 8)
                        return -EUCLEAN;
                r = table_del(t, TABLE_BODY, BYTES((const uint8_t *)k.p + k.n - 8, 8));
                if (r == -ENOENT)
                        r = 0;
        }
        r = r == -ENOENT || r == 0 ? pass_erase(t, scope) : r;
        return r == 0 ? wait_erase(t, scope) : r;
}

int engine_scope_delete(Txn *t, const char *who, const char *name, const char *reason, uint64_t *ret_seq, uint64_t *ret_records, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL, *entry = NULL;
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t scope, seq, n = 0;
        int r = scope_find(t, name, &scope, reterr);

        if (r == 0)
                r = engine_runs_end(t, who, scope, reterr);
        if (r != 0)
                return r;
        r = record_walk(t, scope, KIND_NONE, &w);
        while (r == 0 && (r = record_walk_next(&w, &rec)) == 0)
                n++;
        if (r != -ENOENT)
                return r;
        record_walk_deinit(&w);
        fields = json_pack("{s:s, s:o, s:o, s:s*}", "name", name, "scope", json_u64(scope), "records", json_u64(n), "reason", reason);
        r = fields ? erase_all(t, scope) : -ENOMEM;
        if (r == 0)
                r = event_record(t, &(Event){.type = "scope.deleted", .who = who, .fields = fields}, &seq, &entry);
        if (r == 0)
                r = project_event(t, seq, entry, NULL, NULL);
        if (r < 0)
                return r;
        *ret_seq = seq;
        *ret_records = n;
        return 0;
}
