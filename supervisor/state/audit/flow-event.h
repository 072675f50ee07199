/* Runs: CLI. For flow-read.c and flow-life.c: an entry and its members. */
#pragma once

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
        Bytes v = flow_member(entry, key);
        const char *text = v.p;

        *ret = 0;
        if (v.n < 2 || *text != '"')
                return false;
        snprintf(ret, n_ret, "%.*s", (int)MIN(v.n - 2, n_ret - 1), text + 1);
        return true;
}

static inline FlowNode *event_region_in_bytes(const FlowEvent *e) {
        char id[REGION_ID_MAX];

        return event_text(e->entry, "region", id, sizeof(id)) ? flow_region(e->f, id) : NULL;
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
