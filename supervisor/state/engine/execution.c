#include "engine/execution.h"

#include "store/table.h"

#include <errno.h>
#include <string.h>

#define EXECUTION_PREFIX_MAX (REGION_ID_LEN + sizeof("\0trace"))
#define EXECUTION_KEY_MAX (EXECUTION_PREFIX_MAX + REGION_ID_LEN)
#define EXECUTION_ROW_BYTES (8 + REGION_ID_LEN)

static size_t execution_prefix(const char *object, uint8_t key[static EXECUTION_KEY_MAX]) {
        memcpy(key, object, REGION_ID_LEN);
        memcpy(key + REGION_ID_LEN, "\0trace", sizeof("\0trace")); /* with the last NUL */
        return EXECUTION_PREFIX_MAX;
}

static Bytes execution_key(const char *object, const char *trace, uint8_t key[static EXECUTION_KEY_MAX]) {
        size_t n = execution_prefix(object, key);

        memcpy(key + n, trace, REGION_ID_LEN);
        return BYTES(key, n + REGION_ID_LEN);
}

static bool execution_is_named(const char *object, const char *trace) {
        return object && trace && region_id_valid(object) && region_id_valid(trace);
}

int execution_get(Txn *t, const char *object, const char *trace, ExecutionRow *ret) {
        uint8_t key[EXECUTION_KEY_MAX];
        Bytes v;
        int r = execution_is_named(object, trace) ? table_get(t, TABLE_OBJECT, execution_key(object, trace, key), &v)
                                                  : -ENOENT;

        if (r < 0)
                return r;
        if (v.n != EXECUTION_ROW_BYTES)
                return -EUCLEAN;
        *ret = (ExecutionRow){.ended = be64_get(v.p)};
        memcpy(ret->region, (const uint8_t *)v.p + 8, REGION_ID_LEN);
        return 0;
}

static int execution_put(Txn *t, const char *object, const char *trace, const ExecutionRow *row) {
        uint8_t key[EXECUTION_KEY_MAX], v[EXECUTION_ROW_BYTES] = {0};

        be64_put(v, row->ended);
        memcpy(v + 8, row->region, strlen(row->region));
        return table_put(t, TABLE_OBJECT, execution_key(object, trace, key), BYTES(v, sizeof(v)));
}

int execution_may_start(Txn *t, const RegionStart *s, Diag *reterr) {
        ExecutionRow row;
        int r = execution_get(t, s->object, s->trace, &row);

        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "object %s has no open execution with trace %s: a process has "
                            "recorded the outcome already, and a new cycle decides",
                            s->object, s->trace);
        if (r == 0 && *row.region)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "the execution with trace %s of object %s has region %s already: "
                            "an execution has at most a single region",
                            s->trace, s->object, row.region);
        return r;
}

static int execution_project_region(Txn *t, uint64_t seq, const char *region, const json_t *entry, bool end) {
        const char *object = json_str(entry, "object"), *trace = json_str(entry, "trace");
        ExecutionRow row;
        int r = region && region_id_valid(region) ? execution_get(t, object, trace, &row) : -EUCLEAN;

        if (r == -ENOENT) /* the object has moved on: the execution is over */
                return 0;
        if (r < 0 || (end && strcmp(row.region, region) != 0))
                return r;
        if (end)
                row.ended = seq;
        else
                memcpy(row.region, region, REGION_ID_MAX);
        return execution_put(t, object, trace, &row);
}

static int execution_close(Txn *t, const char *object) {
        uint8_t key[EXECUTION_KEY_MAX];

        return region_id_valid(object) ? table_del_prefix(t, TABLE_OBJECT, BYTES(key, execution_prefix(object, key)))
                                       : 0;
}

/* Kinds as of object/entry.h: notes leave the state unchanged. */
static int execution_project_entry(Txn *t, const json_t *entry) {
        static const char *const moves[] = {"outcome", "terminated", "dormant", "evaluation"};
        const char *object = json_str(entry, "object"), *trace = json_str(entry, "trace"),
                   *kind = json_str(entry, "kind");

        if (strcmp(kind, "started") == 0)
                return execution_is_named(object, trace) ? execution_put(t, object, trace, &(ExecutionRow){0}) : 0;
        return name_index(moves, ARRAY_SIZE(moves), kind) < ARRAY_SIZE(moves) ? execution_close(t, object) : 0;
}

int execution_project(Txn *t, uint64_t seq, const char *type, const char *region, const json_t *entry) {
        if (!json_object_get(entry, "object") || json_object_get(entry, "below"))
                return 0;
        if (strcmp(type, "object.entry") == 0)
                return execution_project_entry(t, entry);
        if ((strcmp(type, "object.adopted") == 0 && json_object_get(entry, "back")) ||
            strcmp(type, "object.replaced") == 0)
                return execution_close(t, json_str(entry, "object"));
        if (strcmp(type, "region.allocated") == 0)
                return execution_project_region(t, seq, region, entry, false);
        return strcmp(type, "invocation.ended") == 0 ? execution_project_region(t, seq, region, entry, true) : 0;
}
