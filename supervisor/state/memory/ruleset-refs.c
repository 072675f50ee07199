#include "memory/ruleset-refs.h"

static json_t *named(const json_t *ref) {
        _cleanup_json_ json_t *whole = json_pack("{s:s, s:s}", "role", "ref", "strength", "strong");
        const char *role;

        if (!whole || json_object_update(whole, (json_t *)ref) < 0)
                return NULL;
        role = json_text(json_object_get(whole, "role"));
        return json_pack("{s:s++++, s:O}", "id", json_text(json_object_get(ref, "kind")), "/", json_text(json_object_get(ref, "id")), " ",
                         role ? role : "?", "ref", whole);
}

static bool is_ref(const json_t *ref) {
        return json_is_string(json_object_get(ref, "kind")) && json_is_string(json_object_get(ref, "id"));
}

json_t *ruleset_refs_named(const json_t *refs) {
        json_t *all = json_array(), *ref;
        size_t i;

        json_array_foreach((json_t *)refs, i, ref)
                if (is_ref(ref) && json_array_append_new(all, named(ref)) < 0) {
                        json_decref(all);
                        return NULL;
                }
        return all;
}

json_t *ruleset_refs_of(const json_t *named) {
        json_t *refs = json_array(), *one;
        size_t i;

        json_array_foreach((json_t *)named, i, one)
                if (json_array_append(refs, json_object_get(one, "ref")) < 0) {
                        json_decref(refs);
                        return NULL;
                }
        return refs;
}
