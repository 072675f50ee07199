#include "audit/span.h"

#include <stdio.h>
#include <string.h>

#define TRACE_DIGITS 32
#define SPAN_DIGITS 16

typedef struct SpanIds {
        char trace[TRACE_DIGITS + 1], parent[SPAN_DIGITS + 1], span[SPAN_DIGITS + 1];
} SpanIds;

static void span_make_id(const char *what, const char *region, char *ret, size_t digits) {
        char text[128], hex[HASH_HEX_MAX];
        int n = snprintf(text, sizeof(text), "lethe %s %s", what, region);

        memcpy(ret, hash_hex(text, (size_t)n, hex), digits);
        ret[digits] = 0;
}

static const RegionFacts *span_region_above(const History *h, size_t before, const char *id) {
        for (size_t i = before; *id && i-- > 0;)
                if (strcmp(h->regions[i]->id, id) == 0)
                        return h->regions[i];
        return NULL;
}

static bool span_recorded_id(const json_t *trace, const char *key, char *ret, size_t digits) {
        const char *s = json_text(json_object_get(trace, key));

        if (!s || strspn(s, "0123456789abcdef") != digits || s[digits])
                return false;
        memcpy(ret, s, digits + 1);
        return true;
}

static void span_ids(const History *h, size_t i, SpanIds *ret) {
        const RegionFacts *f = h->regions[i], *top = f, *next;

        if (span_recorded_id(f->trace, "id", ret->trace, TRACE_DIGITS) &&
            span_recorded_id(f->trace, "parent", ret->parent, SPAN_DIGITS) &&
            span_recorded_id(f->trace, "span", ret->span, SPAN_DIGITS))
                return;
        while ((next = span_region_above(h, i, top->parent)))
                top = next;
        span_make_id("trace", top->id, ret->trace, TRACE_DIGITS);
        span_make_id("span", f->id, ret->span, SPAN_DIGITS);
        *ret->parent = 0;
        if (*f->parent)
                span_make_id("span", f->parent, ret->parent, SPAN_DIGITS);
}

static json_t *span_text(const char *key, const char *value) {
        return json_pack("{s:s, s:{s:s}}", "key", key, "value", "stringValue", value);
}

/* 64-bit integers are strings in protobuf's JSON. */
static json_t *span_number(const char *key, uint64_t value) {
        char digits[24];

        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
        return json_pack("{s:s, s:{s:s}}", "key", key, "value", "intValue", digits);
}

static json_t *span_time(uint64_t usec) {
        char digits[32];

        snprintf(digits, sizeof(digits), "%llu000", (unsigned long long)usec);
        return json_string(digits);
}

/* Takes the attributes. */
static json_t *span_new(const SpanIds *ids, const char *name, uint64_t from, uint64_t to, json_t *attributes) {
        return json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:s*}", "traceId", ids->trace, "spanId", ids->span,
                         "name", name, "kind", 1, "startTimeUnixNano", span_time(from), "endTimeUnixNano",
                         span_time(to), "attributes", attributes, "parentSpanId", *ids->parent ? ids->parent : NULL);
}

static json_t *span_region_attributes(const RegionFacts *f) {
        _cleanup_json_ json_t *a =
                json_pack("[o, o, o, o, o, o, o, o]", span_text("lethe.region", f->id),
                          span_text("lethe.skill.name", f->skill), span_text("lethe.skill.digest", f->digest),
                          span_text("lethe.tier", f->tier), span_text("lethe.outcome", f->outcome),
                          span_number("lethe.ledger.seq", f->allocated),
                          span_number("lethe.cpu_usec", json_number(f->usage, "cpu_usec")),
                          span_number("lethe.peak_memory_bytes", json_number(f->usage, "peak_memory_bytes")));

        if (f->exit_code >= 0 &&
            json_array_append_new(a, span_number("process.exit.code", (uint64_t)f->exit_code)) < 0)
                return NULL;
        return TAKE_PTR(a);
}

/* Sets an error for a killed invocation and for an exit code other than 0. */
static int span_set_status(json_t *o, const RegionFacts *f) {
        if (strcmp(f->outcome, "exited") == 0 && f->exit_code == 0)
                return 0;
        return json_object_set_new(o, "status",
                                   json_pack("{s:i, s:s}", "code", 2, "message", *f->reason ? f->reason : f->outcome));
}

/* region.released is recorded at the teardown's end; the run ended at the teardown's beginning. */
static json_t *span_list(const RegionFacts *f, const SpanIds *ids) {
        uint64_t teardown = facts_number(f, "usec"), wall = json_number(f->usage, "wall_usec"), from, to;
        SpanIds below = *ids;
        char name[256];
        _cleanup_json_ json_t *a = json_array();
        json_t *o;

        snprintf(name, sizeof(name), "region %s", f->skill);
        o = span_new(ids, name, f->allocated_usec, f->ended_usec, span_region_attributes(f));
        if (json_array_append_new(a, o) < 0 || span_set_status(o, f) < 0)
                return NULL;
        to = f->released_usec > teardown ? f->released_usec - teardown : f->released_usec;
        to = MAX(to, f->allocated_usec);
        from = to > wall ? MAX(to - wall, f->allocated_usec) : f->allocated_usec;
        memcpy(below.parent, ids->span, sizeof(below.parent));
        span_make_id("run", f->id, below.span, SPAN_DIGITS);
        if (json_array_append_new(a, span_new(&below, "run", from, to, json_array())) < 0)
                return NULL;
        span_make_id("teardown", f->id, below.span, SPAN_DIGITS);
        o = json_pack("[o, o, o, o]", span_text("lethe.discipline", facts_text(f, "discipline")),
                      span_text("lethe.grade", facts_text(f, "grade")),
                      span_number("lethe.bytes_held", facts_number(f, "bytes_held")),
                      span_number("lethe.bytes_overwritten", facts_number(f, "bytes_overwritten")));
        if (json_array_append_new(a, span_new(&below, "teardown", to, MAX(to, f->released_usec), o)) < 0)
                return NULL;
        return TAKE_PTR(a);
}

json_t *span_of_region(const History *h, size_t i) {
        const RegionFacts *f = h->regions[i];
        SpanIds ids;

        if (f->ended == 0)
                return NULL;
        span_ids(h, i, &ids);
        return json_pack("{s:[{s:{s:[o, o, o]}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceSpans", "resource", "attributes",
                         span_text("service.name", "lethe"), span_text("service.version", LETHE_VERSION),
                         span_text("lethe.ledger.origin", h->origin), "scopeSpans", "scope", "name", "lethe", "version",
                         LETHE_VERSION, "spans", span_list(f, &ids));
}
