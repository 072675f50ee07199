/* Runs: CLI. For the parts of flow: construction of the graph. */
#pragma once

#include "audit/flow.h"
#include "audit/map.h"

#define FLOW_SLOT "slot/"
#define FLOW_SECTION "section/"
#define FLOW_NOTE "note/"
#define FLOW_PENDING "pending/"
#define FLOW_PASS "pass/"

typedef struct FlowMaps {
        Map regions; /* id -> FlowNode */
        Map values;  /* scope and name with version -> FlowNode */
        Map items;   /* scope and name -> FlowItem */
        Map people;  /* name -> FlowNode */
        Map scopes;  /* name -> uint64_t */
        Map names;   /* number of a scope -> FlowScope */
} FlowMaps;

typedef struct FlowScope {
        uint64_t before; /* the earlier scope of the same name; 0: none */
        char name[];
} FlowScope;

typedef struct FlowItem {
        FlowNode *first, *last; /* versions, in the order of writing */
        FlowNode *at;           /* the last answer of flow_version_at(): most questions come in the ledger's order */
        FlowNode *newest; /* of a record: the valid version; numbers restart when a deleted record is made again */
} FlowItem;

/* A member of an object in canonical text, lent; p NULL: none, also of no text. */
static inline Bytes flow_member(Bytes of, const char *key) {
        const char *v;
        size_t n;

        return of.p && json_member_own(of.p, of.n, key, &v, &n) == 0 ? BYTES(v, n) : BYTES(NULL, 0);
}

/* Each returns the node, and creates a missing node. NULL: no memory. */
FlowNode *flow_add_region(Flow *f, const char *id, uint64_t born);
FlowNode *flow_add_person(Flow *f, const char *who);
int flow_know(Flow *f, uint64_t scope, const char *name); /* 0 or -ENOMEM */
FlowNode *flow_add_value(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born);
/* A version of a record was written. *ret_before: the version that was valid until then, or NULL. */
FlowNode *flow_add_version(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born,
                           FlowNode **ret_before);
/* A scope was created: `number` is its event. Returns 0 or -ENOMEM. */
int flow_add_scope(Flow *f, const char *name, uint64_t number);
/* Adds one edge only for the same from, to and how. Returns 0 or -ENOMEM. */
int flow_add_edge(Flow *f, FlowNode *from, FlowNode *to, FlowHow how, uint64_t seq, uint64_t moment, uint64_t since);
/* The newest version of an item at `seq`. NULL: none. */
FlowNode *flow_version_at(const Flow *f, uint64_t scope, const char *name, uint64_t seq);
