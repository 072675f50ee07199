#include "object/chain.h"
#include "object/import-inside.h"
#include "object/intent.h"

#include <errno.h>
#include <string.h>

/* The context of an object as the object was created: a later mutation of a parent does not shrink the children that
 * exist. Borrowed. */
static const json_t *import_context(const ObjectBundle *b) {
        return json_object_get(json_object_get(b->entries[0].json, "data"), "context");
}

static const char *import_parent(const ObjectBundle *b) {
        return json_text(json_object_get(json_object_get(import_context(b), "parent"), "object"));
}

/* The first entry of an object here. ret->n 0: the object is not here, or has a signer without trust. */
static int import_first(Txn *t, const char *id, ObjectBundle *ret, Diag *reterr) {
        _cleanup_object_row_ ObjectRow row = {0};
        Diag none;
        int r = object_get(t, id, &row, &none);

        return r == ENGINE_E_NO_OBJECT || (r == 0 && row.unknown) ? 0 : r ?: chain_read(t, id, 0, 1, ret, reterr);
}

/* what: the child, the parent, and the one of both that comes, for messages. */
static int import_within(const ObjectBundle *child, const ObjectBundle *parent, const char *what, Diag *reterr) {
        const json_t *scope = json_object_get(import_context(parent), "scope");
        const uint64_t depth = json_number(scope, "depth");
        _cleanup_json_ json_t *outer = json_copied(scope);
        int r;

        if (!outer || json_put(outer, "depth", json_u64(depth > 0 ? depth - 1 : 0)) < 0)
                return -ENOMEM;
        if (depth == 0)
                return diag(reterr, ENGINE_E_BEYOND_SCOPE, "%s: the trust scope of the parent allows no children", what);
        r = object_code(intent_scope_within(json_object_get(import_context(child), "scope"), outer, reterr));
        if (r > 0)
                diag_prefix(reterr, "%s", what);
        return r;
}

int import_check_parent(const Import *i, Diag *reterr) {
        _cleanup_object_bundle_ ObjectBundle parent = OBJECT_BUNDLE_NULL;
        const char *id = import_parent(i->b);
        char what[2 * REGION_ID_MAX + 64];
        int r = i->common == 0 && id ? import_first(i->t, id, &parent, reterr) : 0;

        if (r != 0 || parent.n == 0)
                return r;
        snprintf(what, sizeof(what), "object %s: the file is a child of %s, an object here", i->id, id);
        return import_within(i->b, &parent, what, reterr);
}

int import_check_children(const Import *i, Diag *reterr) {
        const json_t *children = json_object_get(i->b->memory.fold, "children_ever");
        const char *id;
        json_t *serial;
        int r = 0;

        if (i->common > 0) /* the children came later than the parent, and were checked */
                return 0;
        json_object_foreach((json_t *)children, id, serial) {
                _cleanup_object_bundle_ ObjectBundle child = OBJECT_BUNDLE_NULL;
                char what[2 * REGION_ID_MAX + 64];

                r = import_first(i->t, id, &child, reterr);
                if (r == 0 && child.n > 0 && import_parent(&child) && strcmp(import_parent(&child), i->id) == 0) {
                        snprintf(what, sizeof(what), "object %s: the file is the parent of %s, an object here", i->id,
                                 id);
                        r = import_within(&child, i->b, what, reterr);
                }
                if (r != 0)
                        break;
        }
        return r;
}
