/* Runs: CLI. For flow-read.c and flow-life.c: an entry and its members. */
#pragma once

#include "audit/entry.h"
#include "audit/flow-graph.h"

#include <stdio.h>

/* The entry at hand. */
typedef struct FlowEvent {
        Flow *f;
        uint64_t seq;
        Bytes entry;
        const json_t *o; /* the parsed entry; NULL for types that are read from the entry's bytes */
} FlowEvent;

/* A member's text, from an unparsed entry; cut when ret is too small. False: no such member, or no plain text. */
static inline bool event_text(Bytes entry, const char *key, char *ret, size_t n_ret) {
        const char *v;
        size_t n;

        *ret = 0;
        if (json_member_own(entry.p, entry.n, key, &v, &n) != 0 || n < 2 || *v != '"')
                return false;
        snprintf(ret, n_ret, "%.*s", (int)MIN(n - 2, n_ret - 1), v + 1);
        return true;
}

static inline Bytes event_member(Bytes entry, const char *key) {
        const char *v = NULL;
        size_t n = 0;

        return json_member_own(entry.p, entry.n, key, &v, &n) == 0 ? BYTES(v, n) : BYTES(NULL, 0);
}

static inline FlowNode *event_region_in_bytes(const FlowEvent *e) {
        char id[REGION_ID_MAX];

        return event_text(e->entry, "region", id, sizeof(id)) ? flow_region(e->f, id) : NULL;
}

static inline FlowNode *event_region(const FlowEvent *e) {
        return flow_region(e->f, json_str(e->o, "region"));
}

static inline FlowNode *event_value(const FlowEvent *e, uint64_t scope, const char *name, uint64_t version) {
        return flow_add_value(e->f, scope, name, version, e->seq);
}

static inline int event_edge(const FlowEvent *e, FlowNode *from, FlowNode *to, FlowHow how, uint64_t moment,
                             uint64_t since) {
        return flow_add_edge(e->f, from, to, how, e->seq, moment, since);
}

/* flow-life.c. Each returns 0, -EUCLEAN, -errno. */
int flow_took_allocated(FlowEvent *e);
int flow_took_released(FlowEvent *e);
int flow_took_recovered(FlowEvent *e);
int flow_took_ended(FlowEvent *e);
