/* Runs: supervisor, CLI. The first entry of an object: intent, context, and the empty fold. */
#include "object/memory-inside.h"

#include "object/intent.h"

#include <string.h>

static int memory_begin_fold(ObjectMemory *m) {
        static const char *const numbers[] = {"step", "successes", "attempts", "weight10", "latency_usec",
                                              "last_time", "timeouts", "serial", "inputs"};
        static const char *const objects[] = {"closed", "children_ever", "counts"};
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(numbers); i++)
                r = memory_put_number(m, numbers[i], 0);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(objects); i++)
                r = memory_put(m, objects[i], json_object());
        if (r == 0 && (memory_put(m, "last", json_null()) < 0 || memory_put(m, "negative", json_array()) < 0 ||
                       memory_put(m, "waited", json_false()) < 0 || memory_put(m, "rest", json_false()) < 0))
                r = -ENOMEM;
        return r;
}

/* Members that come from another node, and go into events and messages here. */
static int memory_check_context(const json_t *context, const char *object, Diag *reterr) {
        const json_t *created = json_object_get(context, "created"), *policy = json_object_get(context, "policy"),
                     *parent = json_object_get(context, "parent"), *meta = json_object_get(context, "meta");
        const char *up = json_text(json_object_get(parent, "object"));
        uint64_t n;

        if (created && json_get_u64(created, &n) < 0)
                return diag(reterr, OBJECT_E_INTENT, "context.created must be a number of microseconds");
        if (policy && (!json_text(policy) || json_string_length(policy) > MEMORY_FOLD_REASON_MAX))
                return diag(reterr, OBJECT_E_INTENT, "context.policy must be a text of at most %d bytes",
                            MEMORY_FOLD_REASON_MAX);
        if (meta && !json_is_object(meta))
                return diag(reterr, OBJECT_E_INTENT, "context.meta must be an object");
        if (!parent || json_is_null(parent))
                return 0;
        if (!up || !region_id_valid(up) || json_get_u64(json_object_get(parent, "serial"), &n) < 0)
                return diag(reterr, OBJECT_E_INTENT,
                            "context.parent must be null, or have the id of an \"object\" and the number \"serial\"");
        return strcmp(up, object) != 0 ? 0
                                       : diag(reterr, OBJECT_E_INTENT,
                                              "context.parent.object: %s: no object is its own parent", up);
}

int memory_take_first(ObjectMemory *m, const Entry *e, Diag *reterr) {
        json_t *intent = json_object_get(memory_data(e), "intent");
        json_t *context = json_object_get(memory_data(e), "context");
        const json_t *by = json_object_get(context, "by"), *node = json_object_get(context, "node");
        _cleanup_json_ json_t *complete = NULL;
        int r;

        if (!json_is_object(intent) || !json_is_object(json_object_get(context, "scope")))
                return diag(reterr, OBJECT_E_INTENT, "intent and context, with a scope, must be objects");
        if (by && (!json_text(by) || json_string_length(by) > MEMORY_BY_MAX))
                return diag(reterr, OBJECT_E_INTENT, "context.by must be a text of at most %d bytes without U+0000",
                            MEMORY_BY_MAX);
        if (node && !json_equal(node, json_object_get(e->json, "node")))
                return diag(reterr, OBJECT_E_INTENT, "context.node must be the node of the first entry, %s",
                            json_str(e->json, "node"));
        r = memory_check_context(context, json_str(e->json, "object"), reterr);
        if (r != 0)
                return r;
        r = intent_complete(intent, json_str(e->json, "object"), &complete, reterr);
        if (r == 0)
                r = intent_within(complete, json_object_get(context, "scope"), reterr);
        if (r != 0)
                return r;
        m->intent = TAKE_PTR(complete);
        m->context = json_incref(context);
        return memory_begin_fold(m);
}
