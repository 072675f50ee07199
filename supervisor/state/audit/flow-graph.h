/* Runs: CLI. For the parts of flow: how the graph is put together. */
#pragma once

#include "audit/audit-internal.h"
#include "audit/flow.h"

#define FLOW_SLOT "slot/"
#define FLOW_SECTION "section/"
#define FLOW_NOTE "note/"
#define FLOW_PENDING "pending/"
#define FLOW_PASS "pass/"

typedef struct FlowMaps {
        Map regions; /* id -> FlowNode */
        Map values;  /* scope and name with version -> FlowNode */
        Map items;   /* scope and name -> FlowItem */
        Map people;  /* who -> FlowNode */
        Map scopes;  /* name -> uint64_t */
        Map names;   /* number of a scope -> FlowScope */
} FlowMaps;

typedef struct FlowScope {
        uint64_t before; /* the scope that had the name before; 0: none */
        char name[];
} FlowScope;

typedef struct FlowItem {
        FlowNode *first, *last; /* versions, as they were written */
        FlowNode *at;           /* the one that was asked for last: questions mostly come in the ledger's order */
        FlowNode *newest;       /* of a record: the one that stands; versions begin anew where it is deleted and made again */
} FlowItem;

/* Each returns the node, made when it is not there; NULL: no memory. */
FlowNode *flow_add_region(Flow *f, const char *id, uint64_t born);
FlowNode *flow_add_person(Flow *f, const char *who);
int flow_know(Flow *f, uint64_t scope, const char *name); /* 0 or -ENOMEM */
FlowNode *flow_add_value(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born);
/* A version of a record was written: *ret_before is the one that stood until then, or NULL. */
FlowNode *flow_add_version(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born, FlowNode **ret_before);
/* A scope was created: `number` is its event. Returns 0 or -ENOMEM. */
int flow_add_scope(Flow *f, const char *name, uint64_t number);
/* Once for the same two and the same how. Returns 0 or -ENOMEM. */
int flow_add_edge(Flow *f, FlowNode *from, FlowNode *to, FlowHow how, uint64_t seq, uint64_t moment, uint64_t since);
/* The version of an item that was the newest at `seq`. NULL: it had none. */
FlowNode *flow_version_at(const Flow *f, uint64_t scope, const char *name, uint64_t seq);
