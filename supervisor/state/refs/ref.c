#include "refs/ref.h"

#include "record/code.h"

#include <errno.h>
#include <string.h>

/* Key: near end (scope, kind, id), NUL, far end (kind, id), NUL, role. Value: 1 strong, 0 weak; seq. */
#define REF_KEY_MAX (RECORD_KEY_MAX + 1 + 1 + RECORD_ID_MAX + REF_ROLE_MAX)

static bool ref_role_valid(const char *role) {
        size_t n = strlen(role);

        if (n == 0 || n >= REF_ROLE_MAX || role[0] < 'a' || role[0] > 'z')
                return false;
        for (size_t i = 1; i < n; i++)
                if (!(role[i] >= 'a' && role[i] <= 'z') && !(role[i] >= '0' && role[i] <= '9') && role[i] != '_' &&
                    role[i] != '-')
                        return false;
        return true;
}

static size_t ref_key(const RecordKey *near, const RecordKey *far, const char *role, uint8_t ret[static REF_KEY_MAX]) {
        size_t n = record_key(near, ret), n_id = strlen(far->id), n_role = strlen(role);

        ret[n++] = 0;
        ret[n++] = (uint8_t)far->kind;
        memcpy(ret + n, far->id, n_id);
        n += n_id;
        ret[n++] = 0;
        memcpy(ret + n, role, n_role);
        return n + n_role;
}

static int ref_compare(const void *a, const void *b) {
        const Ref *x = a, *y = b;
        int c = record_key_compare(&x->target, &y->target);

        return c ? c : strcmp(x->role, y->role);
}

static int ref_parse(const RecordKey *source, const char *scope_name, const json_t *o, size_t i, Ref *ret,
                     Diag *reterr) {
        const char *kind = NULL, *id = NULL, *strength = "strong", *role = "ref", *scope = scope_name, *key;
        json_t *v;

        if (!json_is_object(o))
                return diag(reterr, ENGINE_E_BAD_REF,
                            "refs[%zu] is not an object {\"kind\",\"id\",\"strength\",\"role\"}", i);
        json_object_foreach((json_t *)o, key, v) {
                const char **to = strcmp(key, "kind") == 0       ? &kind
                                  : strcmp(key, "id") == 0       ? &id
                                  : strcmp(key, "strength") == 0 ? &strength
                                  : strcmp(key, "role") == 0     ? &role
                                  : strcmp(key, "scope") == 0    ? &scope
                                                                 : NULL;

                if (!to)
                        return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu]: unknown field \"%s\"", i, DIAG_QUOTED(key));
                *to = json_text(v);
                if (!*to)
                        return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu].%s is not a string", i, key);
        }
        if (!kind || !id)
                return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu]: \"kind\" and \"id\" are needed", i);
        if (scope_name && strcmp(scope, scope_name) != 0)
                return diag(
                        reterr, ENGINE_E_CROSS_SCOPE,
                        "refs[%zu].scope is \"%s\": a record of scope %s can refer to records of its own scope only", i,
                        DIAG_QUOTED(scope), scope_name);
        if (strcmp(strength, "strong") != 0 && strcmp(strength, "weak") != 0)
                return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu].strength is \"%s\": strong or weak is allowed", i,
                            DIAG_QUOTED(strength));
        if (!ref_role_valid(role))
                return diag(reterr, ENGINE_E_BAD_REF,
                            "refs[%zu].role is \"%s\": a letter a-z, then at most %d of a-z 0-9 _ -", i,
                            DIAG_QUOTED(role), REF_ROLE_MAX - 2);
        *ret = (Ref){.source = *source, .strong = strength[0] == 's'};
        strcpy(ret->role, role);
        ret->target.scope = source->scope;
        ret->target.kind = kind_from_name(kind);
        if (!ret->target.kind)
                return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu].kind is \"%s\": no such kind of record", i,
                            DIAG_QUOTED(kind));
        if (!kind_may_refer(source->kind, ret->target.kind))
                return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu]: a record of %s cannot refer to a record of %s", i,
                            kind_name(source->kind), kind);
        if (!record_id_valid(ret->target.kind, id))
                return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu].id is \"%s\": an id is %s", i,
                            DIAG_QUOTED(id), record_id_rule(ret->target.kind));
        strcpy(ret->target.id, id);
        if (ret->target.kind == source->kind && strcmp(id, source->id) == 0)
                return diag(reterr, ENGINE_E_BAD_REF, "refs[%zu] leads to the record itself", i);
        return 0;
}

int refs_parse(const RecordKey *source, const char *scope_name, const json_t *refs, Ref **ret, size_t *ret_n,
               Diag *reterr) {
        _cleanup_free_ Ref *v = NULL;
        size_t n = json_array_size(refs), kept = 0;

        if (refs && !json_is_array(refs))
                return diag(reterr, ENGINE_E_BAD_REF, "refs is not an array");
        if (n > REFS_MAX)
                return diag(reterr, ENGINE_E_BAD_REF, "refs has %zu entries: at most %d are allowed", n, REFS_MAX);
        v = calloc(n + 1, sizeof(*v));
        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r = ref_parse(source, scope_name, json_array_get(refs, i), i, &v[i], reterr);

                if (r != 0)
                        return r;
        }
        qsort(v, n, sizeof(*v), ref_compare);
        for (size_t i = 0; i < n; i++)
                if (kept > 0 && ref_compare(&v[kept - 1], &v[i]) == 0)
                        v[kept - 1].strong |= v[i].strong;
                else
                        v[kept++] = v[i];
        *ret = TAKE_PTR(v);
        *ret_n = kept;
        return 0;
}

static int ref_decode(const RefWalk *w, Bytes k, Bytes v, Ref *ret) {
        const uint8_t *p = (const uint8_t *)k.p + RECORD_KEY_HEAD + strlen(w->of.id) + 1,
                      *end = (const uint8_t *)k.p + k.n, *nul;
        RecordKey far = {.scope = w->of.scope};

        if (v.n != 9 || *(const uint8_t *)v.p > 1 || end - p < 4)
                return -EUCLEAN;
        far.kind = (Kind)*p++;
        nul = memchr(p, 0, (size_t)(end - p));
        if (!nul || nul == p || nul - p >= RECORD_ID_MAX || end - nul - 1 <= 0 || end - nul - 1 >= REF_ROLE_MAX)
                return -EUCLEAN;
        memcpy(far.id, p, (size_t)(nul - p));
        *ret = (Ref){.source = w->incoming ? far : w->of,
                     .target = w->incoming ? w->of : far,
                     .strong = *(const uint8_t *)v.p};
        memcpy(ret->role, nul + 1, (size_t)(end - nul - 1));
        ret->seq = be64_get((const uint8_t *)v.p + 1);
        return record_id_valid(far.kind, far.id) && ref_role_valid(ret->role) ? 0 : -EUCLEAN;
}

int ref_walk(Txn *t, const RecordKey *of, bool incoming, RefWalk *ret) {
        uint8_t prefix[RECORD_KEY_MAX + 1];
        size_t n = record_key(of, prefix);

        prefix[n++] = 0;
        *ret = (RefWalk){.of = *of, .incoming = incoming};
        return cursor_open_within(t, incoming ? TABLE_RREF : TABLE_REF, BYTES(prefix, n), n, &ret->cursor);
}

int ref_walk_next(RefWalk *w, Ref *ret) {
        Bytes k, v;

        return cursor_next(w->cursor, &k, &v) ?: ref_decode(w, k, v, ret);
}

void ref_walk_deinit(RefWalk *w) {
        cursor_free(w->cursor);
        w->cursor = NULL;
}

static int refs_delete(Txn *t, const RecordKey *source) {
        for (;;) {
                _cleanup_ref_walk_ RefWalk w = {0};
                uint8_t key[REF_KEY_MAX];
                Ref ref;
                int r = ref_walk(t, source, false, &w) ?: ref_walk_next(&w, &ref);

                if (r < 0)
                        return r == -ENOENT ? 0 : r;
                r = table_del(t, TABLE_REF, BYTES(key, ref_key(&ref.source, &ref.target, ref.role, key)))
                        ?: table_del(t, TABLE_RREF, BYTES(key, ref_key(&ref.target, &ref.source, ref.role, key)));
                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
        }
}

int refs_replace(Txn *t, const RecordKey *source, const Ref *refs, size_t n, uint64_t seq) {
        int r = refs_delete(t, source);

        for (size_t i = 0; r == 0 && i < n; i++) {
                uint8_t key[REF_KEY_MAX], v[9];

                v[0] = refs[i].strong;
                be64_put(v + 1, seq);
                r = table_put(t, TABLE_REF, BYTES(key, ref_key(source, &refs[i].target, refs[i].role, key)),
                              BYTES(v, sizeof(v)))
                        ?: table_put(t, TABLE_RREF, BYTES(key, ref_key(&refs[i].target, source, refs[i].role, key)),
                                     BYTES(v, sizeof(v)));
        }
        return r;
}
