#include "engine/scope.h"

#include "record/event.h"
#include "record/record.h"
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
