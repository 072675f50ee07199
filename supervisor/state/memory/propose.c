#include "memory/propose.h"

#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SUPERSEDES "supersedes"
#define STRONG 1.0
#define WEAK 0.35
#define REASONS_MOST 64 /* reasons of a record, as many as the engine looks at, and named blockers */
/* An answer has 262144 bytes at most. A longer list is cut: later passes take the rest. */
#define PROPOSALS_BYTES (160 * 1024)
#define BLOCKED_BYTES (64 * 1024)

static bool propose_has(const json_t *o, const char *member, const char *value) {
        return json_text_is(json_object_get(o, member), value);
}

static bool propose_wants(const json_t *scan, const char *reason) {
        const json_t *list = json_object_get(scan, "reasons");

        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_array_get(list, i), reason))
                        return true;
        return false;
}

static bool propose_is_strong(const json_t *edge) {
        return propose_has(edge, "strength", "strong");
}

static bool propose_is_gone(const json_t *edge) {
        return propose_has(edge, "state", "deleted") || propose_has(edge, "state", "removed");
}

static bool propose_is_of_kernel(const json_t *edge) {
        const char *kind = json_str(edge, "kind");
        size_t n = strlen(kind), tail = strlen("_kernel");

        return n > tail && strcmp(kind + n - tail, "_kernel") == 0;
}

static double propose_score(const json_t *record) {
        const json_t *in = json_object_get(record, "in");
        double score = 0;

        for (size_t i = 0; i < json_array_size(in); i++) {
                const json_t *edge = json_array_get(in, i);

                if (!propose_is_gone(edge) && !propose_has(edge, "role", SUPERSEDES))
                        score += propose_is_strong(edge) ? STRONG : WEAK;
        }
        return score;
}

static int propose_add_reason(json_t *reasons, const char *name, const json_t *edge, const char *member,
                              json_t *value) {
        json_t *o;

        if (json_array_size(reasons) == REASONS_MOST)
                return 0;
        o = json_pack("{s:s, s:O*, s:O*, s:O*}", "reason", name, "kind", json_object_get(edge, "kind"), "id",
                      json_object_get(edge, "id"), member ? member : "event", value);
        for (size_t i = 0; o && i < json_array_size(reasons); i++)
                if (json_equal(json_array_get(reasons, i), o)) { /* the same reason by a different role */
                        json_decref(o);
                        return 0;
                }
        return o && json_array_append_new(reasons, o) == 0 ? 0 : -ENOMEM;
}

/* In the order of the admitted types. */
static int propose_reasons(const json_t *scan, const json_t *record, json_t *reasons) {
        const json_t *out = json_object_get(record, "out"), *in = json_object_get(record, "in");
        json_t *since = json_object_get(record, "since"), *edge;
        size_t i;
        int r = 0;

        if (propose_wants(scan, "broken_ref"))
                json_array_foreach((json_t *)out, i, edge)
                        if (r == 0 && propose_is_gone(edge) && !propose_has(edge, "role", SUPERSEDES))
                                r = propose_add_reason(reasons, "broken_ref", edge, NULL, NULL);
        if (propose_wants(scan, "superseded_by"))
                json_array_foreach((json_t *)in, i, edge)
                        if (r == 0 && propose_has(edge, "state", "active") && propose_has(edge, "role", SUPERSEDES) &&
                            !json_is_false(json_object_get(edge, "granted")))
                                r = propose_add_reason(reasons, "superseded_by", edge, NULL, NULL);
        if (propose_wants(scan, "retired_dependency"))
                json_array_foreach((json_t *)out, i, edge)
                        if (r == 0 && propose_has(edge, "state", "archived") && propose_is_strong(edge) &&
                            !propose_has(edge, "role", SUPERSEDES))
                                r = propose_add_reason(reasons, "retired_dependency", edge, "event",
                                                       json_object_get(edge, "event"));
        if (propose_wants(scan, "disputed_by"))
                json_array_foreach(json_object_get(record, "disputed"), i, edge)
                        if (r == 0)
                                r = propose_add_reason(reasons, "disputed_by", edge, NULL, NULL);
        if (r == 0 && since && propose_score(record) == 0 && propose_wants(scan, "unsupported_since"))
                r = propose_add_reason(reasons, "unsupported_since", NULL, "pass", since);
        return r;
}

static int propose_blockers(const json_t *record, json_t *blockers) {
        const json_t *in = json_object_get(record, "in");

        for (size_t i = 0; i < json_array_size(in) && json_array_size(blockers) < REASONS_MOST; i++) {
                const json_t *edge = json_array_get(in, i);

                if (propose_is_gone(edge) || propose_has(edge, "role", SUPERSEDES) ||
                    !(propose_is_strong(edge) || propose_is_of_kernel(edge) || propose_has(edge, "state", "active")))
                        continue;
                if (json_array_append_new(blockers,
                                          json_pack("{s:O, s:O, s:O, s:O}", "kind", json_object_get(edge, "kind"), "id",
                                                    json_object_get(edge, "id"), "strength",
                                                    json_object_get(edge, "strength"), "role",
                                                    json_object_get(edge, "role"))) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* A record gives a proposal, a blocked removal, or no entry. */
static int propose_one(const json_t *scan, const json_t *record, json_t *proposals, json_t *blocked) {
        _cleanup_json_ json_t *reasons = json_array(), *blockers = json_array(), *o = NULL;
        json_t *first;
        bool archived = propose_has(record, "state", "archived");
        int r = reasons && blockers ? propose_reasons(scan, record, reasons) : -ENOMEM;

        if (r == 0 && archived)
                r = propose_blockers(record, blockers);
        if (r == 0 && json_array_size(reasons) > 0) {
                first = json_incref(json_array_get(reasons, 0));
                json_array_remove(reasons, 0);
                o = json_pack("{s:s, s:O, s:O, s:f, s:o, s:O}", "op", archived ? "remove" : "archive", "kind",
                              json_object_get(record, "kind"), "id", json_object_get(record, "id"), "score",
                              propose_score(record), "reason", first, "also", reasons);
                if (!o || (json_array_size(blockers) > 0 && json_object_set(o, "blockers", blockers) < 0) ||
                    json_array_append(json_array_size(blockers) > 0 ? blocked : proposals, o) < 0)
                        r = -ENOMEM;
        }
        return r;
}

static int propose_lane(const json_t *o) {
        return propose_has(o, "kind", "knowledge_projections") ? 0 : propose_has(o, "kind", "skill_artifacts") ? 1 : 2;
}

static int propose_compare(const void *a, const void *b) {
        const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
        double s = json_number_value(json_object_get(x, "score")), t = json_number_value(json_object_get(y, "score"));

        if (propose_lane(x) != propose_lane(y))
                return propose_lane(x) - propose_lane(y);
        if (s != t)
                return s < t ? -1 : 1;
        return strcmp(json_str(x, "id"), json_str(y, "id"));
}

/* Sorts the list and keeps at most `most` bytes. */
static int propose_sort(const json_t *list, size_t most, json_t **ret, bool *ret_cut) {
        json_t *sorted = json_sorted(list, propose_compare);
        size_t n = json_array_size(sorted), fit = 0;

        for (; fit < n; fit++) {
                size_t bytes = json_dumpb(json_array_get(sorted, fit), NULL, 0, JSON_COMPACT) + 1;

                if (bytes > most)
                        break;
                most -= bytes;
        }
        *ret_cut |= fit < n;
        while (n > fit)
                json_array_remove(sorted, --n);
        *ret = sorted;
        return sorted ? 0 : -ENOMEM;
}

int propose(const json_t *scan, json_t **ret) {
        const json_t *records = json_object_get(scan, "records");
        _cleanup_json_ json_t *proposals = json_array(), *blocked = json_array(), *a = NULL, *b = NULL, *o = NULL;
        int r = proposals && blocked ? 0 : -ENOMEM;
        bool cut = false;

        if (json_integer_value(json_object_get(scan, "version")) != PROPOSE_VERSION || !json_is_array(records) ||
            !json_object_get(scan, "pass"))
                r = -EINVAL;
        for (size_t i = 0; r == 0 && i < json_array_size(records); i++)
                r = propose_one(scan, json_array_get(records, i), proposals, blocked);
        if (r == 0)
                r = propose_sort(proposals, PROPOSALS_BYTES, &a, &cut)
                        ?: propose_sort(blocked, BLOCKED_BYTES, &b, &cut);
        if (r < 0)
                return r;
        o = json_pack("{s:i, s:O, s:O, s:O}", "version", PROPOSE_VERSION, "pass", json_object_get(scan, "pass"),
                      "proposals", a, "blocked", b);
        if (!o || (cut && json_object_set_new(o, "cut", json_true()) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}
