#include "audit/span.h"

#include <stdio.h>
#include <string.h>

#define TRACE_DIGITS 32
#define SPAN_DIGITS 16

typedef struct Ids {
        char trace[TRACE_DIGITS + 1], parent[SPAN_DIGITS + 1], span[SPAN_DIGITS + 1];
} Ids;

static void made_id(const char *what, const char *region, char *ret, size_t digits) {
        char text[128], hex[HASH_HEX_MAX];
        uint8_t hash[HASH_BYTES];

        hash_bytes(text, (size_t)snprintf(text, sizeof(text), "lethe %s %s", what, region), hash);
        memcpy(ret, hex_encode(hash, sizeof(hash), hex), digits);
        ret[digits] = 0;
}

static const RegionFacts *above(const History *h, size_t before, const char *id) {
        for (size_t i = before; *id && i-- > 0;)
                if (strcmp(h->regions[i]->id, id) == 0)
                        return h->regions[i];
        return NULL;
}

static bool recorded(const json_t *trace, const char *key, char *ret, size_t digits) {
        const char *s = json_text(json_object_get(trace, key));

        if (!s || strspn(s, "0123456789abcdef") != digits || s[digits])
                return false;
        memcpy(ret, s, digits + 1);
        return true;
}

static void ids_of(const History *h, size_t i, Ids *ret) {
        const RegionFacts *f = h->regions[i], *top = f, *next;

        if (recorded(f->trace, "id", ret->trace, TRACE_DIGITS) && recorded(f->trace, "parent", ret->parent, SPAN_DIGITS) &&
            recorded(f->trace, "span", ret->span, SPAN_DIGITS))
                return;
        while ((next = above(h, i, top->parent)))
                top = next;
        made_id("trace", top->id, ret->trace, TRACE_DIGITS);
        made_id("span", f->id, ret->span, SPAN_DIGITS);
        *ret->parent = 0;
        if (*f->parent)
                made_id("span", f->parent, ret->parent, SPAN_DIGITS);
}

static json_t *text(const char *key, const char *value) {
        return json_pack("{s:s, s:{s:s}}", "key", key, "value", "stringValue", value);
}

/* 64-bit integers are strings in protobuf's JSON. */
static json_t *number(const char *key, uint64_t value) {
        char digits[24];

        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
        return json_pack("{s:s, s:{s:s}}", "key", key, "value", "intValue", digits);
}

static json_t *time_of(uint64_t usec) {
        char digits[32];

        snprintf(digits, sizeof(digits), "%llu000", (unsigned long long)usec);
        return json_string(digits);
}

/* Takes the attributes. */
static json_t *span(const Ids *ids, const char *name, uint64_t from, uint64_t to, json_t *attributes) {
        json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "traceId", ids->trace, "spanId", ids->span, "name", name, "kind", 1,
                              "startTimeUnixNano", time_of(from), "endTimeUnixNano", time_of(to), "attributes", attributes);

        if (o && *ids->parent && json_object_set_new(o, "parentSpanId", json_string(ids->parent)) < 0) {
                json_decref(o);
                return NULL;
        }
        return o;
}

static uint64_t usage(const RegionFacts *f, const char *member) {
        uint64_t n;

        return json_get_u64(json_object_get(f->usage, member), &n) < 0 ? 0 : n;
}

static json_t *region_attributes(const RegionFacts *f) {
        json_t *a = json_pack("[o, o, o, o, o, o, o, o]", text("lethe.region", f->id), text("lethe.skill.name", f->skill),
                              text("lethe.skill.digest", f->digest), text("lethe.tier", f->tier), text("lethe.outcome", f->outcome),
                              number("lethe.ledger.seq", f->allocated), number("lethe.cpu_usec", usage(f, "cpu_usec")),
                              number("lethe.peak_memory_bytes", usage(f, "peak_memory_bytes")));

        if (a && f->exit_code >= 0 && json_array_append_new(a, number("process.exit.code", (uint64_t)f->exit_code)) < 0) {
                json_decref(a);
                return NULL;
        }
        return a;
}

/* An invocation that did not end by itself is an error of it; one that ended with another code than 0 has said so itself. */
static int set_status(json_t *o, const RegionFacts *f) {
        bool good = strcmp(f->outcome, "exited") == 0 && f->exit_code == 0;

        if (good)
                return 0;
        return json_object_set_new(o, "status", json_pack("{s:i, s:s}", "code", 2, "message", *f->reason ? f->reason : f->outcome));
}

/* What follows from the records: the teardown ended when region.released was recorded, and what ran ended when it began. */
static json_t *spans_of(const RegionFacts *f, const Ids *ids) {
        uint64_t teardown = facts_number(f, "usec"), wall = usage(f, "wall_usec"), from, to;
        Ids below = *ids;
        char name[256];
        json_t *a = json_array(), *o;

        snprintf(name, sizeof(name), "region %s", f->skill);
        o = span(ids, name, f->allocated_usec, f->ended_usec, region_attributes(f));
        if (!o || set_status(o, f) < 0 || json_array_append_new(a, o) < 0)
                goto fail;
        to = f->released_usec > teardown ? f->released_usec - teardown : f->released_usec;
        to = MAX(to, f->allocated_usec);
        from = to > wall ? MAX(to - wall, f->allocated_usec) : f->allocated_usec;
        memcpy(below.parent, ids->span, sizeof(below.parent));
        made_id("run", f->id, below.span, SPAN_DIGITS);
        if (json_array_append_new(a, span(&below, "run", from, to, json_array())) < 0)
                goto fail;
        made_id("teardown", f->id, below.span, SPAN_DIGITS);
        o = json_pack("[o, o, o, o]", text("lethe.discipline", facts_text(f, "discipline")), text("lethe.grade", facts_text(f, "grade")),
                      number("lethe.bytes_held", facts_number(f, "bytes_held")), number("lethe.bytes_overwritten", facts_number(f, "bytes_overwritten")));
        if (json_array_append_new(a, span(&below, "teardown", to, MAX(to, f->released_usec), o)) < 0)
                goto fail;
        return a;
fail:
        json_decref(a);
        return NULL;
}

json_t *span_of_region(const History *h, size_t i) {
        const RegionFacts *f = h->regions[i];
        Ids ids;

        if (f->ended == 0)
                return NULL;
        ids_of(h, i, &ids);
        return json_pack("{s:[{s:{s:[o, o, o]}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceSpans", "resource", "attributes", text("service.name", "lethe"),
                         text("service.version", LETHE_VERSION), text("lethe.ledger.origin", h->origin), "scopeSpans", "scope", "name", "lethe", "version",
                         LETHE_VERSION, "spans", spans_of(f, &ids));
}
