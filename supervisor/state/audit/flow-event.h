/* Runs: CLI. For flow-read.c and flow-life.c: an entry, and what it says. */
#pragma once

#include "audit/flow-graph.h"

#include <stdio.h>

/* The entry at hand. */
typedef struct FlowEvent {
        Flow *f;
        uint64_t seq;
        Bytes entry;
        const json_t *o; /* parsed, but for those that are taken by their bytes: NULL */
} FlowEvent;

static inline const char *text_of(const json_t *o, const char *key) {
        const char *s = json_text(json_object_get(o, key));

        return s ? s : "";
}

static inline uint64_t number_of(const json_t *o, const char *key) {
        uint64_t v;

        return json_get_u64(json_object_get(o, key), &v) == 0 ? v : 0;
}

/* A member's text, of an entry that is not parsed; cut where there is no room. False: it has none that is plain text. */
static inline bool text_in(Bytes entry, const char *key, char *ret, size_t n_ret) {
        const char *v;
        size_t n;

        *ret = 0;
        if (json_member_own(entry.p, entry.n, key, &v, &n) != 0 || n < 2 || *v != '"')
                return false;
        snprintf(ret, n_ret, "%.*s", (int)MIN(n - 2, n_ret - 1), v + 1);
        return true;
}

static inline Bytes member_in(Bytes entry, const char *key) {
        const char *v = NULL;
        size_t n = 0;

        return json_member_own(entry.p, entry.n, key, &v, &n) == 0 ? BYTES(v, n) : BYTES(NULL, 0);
}

static inline FlowNode *region_in(const FlowEvent *e) {
        char id[REGION_ID_MAX];

        return text_in(e->entry, "region", id, sizeof(id)) ? flow_region(e->f, id) : NULL;
}

static inline FlowNode *region_of(const FlowEvent *e) {
        return flow_region(e->f, text_of(e->o, "region"));
}

/* flow-life.c: region.allocated, region.released, region.recovered, invocation.ended. Each returns 0, -EUCLEAN, -errno. */
int flow_took_allocated(FlowEvent *e);
int flow_took_released(FlowEvent *e);
int flow_took_recovered(FlowEvent *e);
int flow_took_ended(FlowEvent *e);
