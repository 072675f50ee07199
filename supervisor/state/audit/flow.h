/* Runs: CLI. The readers of a value, and its consequences (I-77): a graph of the ledger's entries, built anew for each
 * question. The questions are rare, so no table is kept and no launch pays for the graph. Entries without any bearing
 * on the graph are skipped unparsed.
 *
 *      value   a version of a slot (slot/NAME), of a record (FAMILY/ID, BUCKET/ID, of a scope), of a section
 *              (section/REGION/NAME), a note (note/RUN)
 *      edge    value -> region      read
 *              region -> value      wrote; had a say in the verdict
 *              value -> value       a note became belief; evidence became a part of a state; a version continues the
 *                                   version before; a pass of the digest archived the record
 *              region -> region     started (arguments, input); answered; shared sections
 *
 * A region passes on a value from the moment at which the value reached the region. Slots are read at the region's
 * beginning. The moment of a record's read is unknown, so all acts of the region count. Answers cover the entries under
 * the signed checkpoint. */
#pragma once

#include "audit/history.h"
#include "base/diag.h"
#include "base/id.h"
#include "base/json.h"
#include "store/table.h"

typedef enum FlowKind { FLOW_VALUE, FLOW_REGION, FLOW_PERSON } FlowKind;
typedef enum FlowHow {
        FLOW_WROTE,     /* region or person -> value */
        FLOW_SAID,      /* region -> version of a slot, chosen by a verdict on several proposals */
        FLOW_READ,      /* value -> region */
        FLOW_CONSULTED, /* value -> region, as evidence of a gate */
        FLOW_STARTED,   /* region -> region below: arguments and input */
        FLOW_ANSWERED,  /* region -> region above: result and output */
        FLOW_SHARED,    /* in both directions, where the upper region lends its key: sections */
        FLOW_BECAME,    /* note -> belief; proposals of a digest -> record */
        FLOW_WENT_ON,   /* version -> next version */
} FlowHow;
const char *flow_how_word(FlowHow how); /* "wrote", "had a say in", "read", … */

typedef struct FlowNode FlowNode;
typedef struct FlowEdge {
        FlowNode *from, *to;
        struct FlowEdge *next_out, *next_in, *next; /* of one node, in the ledger's order; of the graph */
        FlowHow how;
        uint64_t seq;     /* of the entry that records the edge */
        uint64_t moment;  /* when the value left `from`: later arrivals in `from` do not count */
        uint64_t since;   /* from then on the value is in `to`, a region */
} FlowEdge;

/* The acts of a region without a record of each. */
typedef struct FlowGaps {
        uint64_t slots, belief, memory; /* reads without names: lineage stats, a full entry, or an older Lethe */
        uint64_t told; /* a note and shared belief on the standard input of an advisor, at lineage stats */
        uint64_t notes; /* reads of notes of its run that other regions added */
        uint64_t handles; /* uses of handles beyond the room of the region's record */
        bool alive;                     /* reads of belief and memory are recorded at the end */
        bool lost;                      /* the supervisor died before the record of reads */
} FlowGaps;

struct FlowNode {
        FlowKind kind;
        uint64_t scope;        /* of a record: the scope's number; 0: none */
        uint64_t version;      /* of a value */
        uint64_t born, ended;  /* seq; ended of a region without an end: UINT64_MAX */
        FlowNode *next;        /* region: the ledger's next region; value: the next version in the order of writing */
        FlowEdge *in, *last_in, *out, *last_out;

        /* Of regions. */
        Bytes entry;           /* region.allocated, borrowed from the transaction */
        char skill[80];
        bool refused;          /* by a gate: never began */
        bool lends, callback;
        bool stats, handles;   /* lineage detail; neither: events */
        FlowNode *above;
        FlowNode *last_callback; /* of the callbacks that share the sections of the region */
        FlowEdge *from_above;  /* of shared sections */
        FlowGaps gaps;

        /* For a question. */
        bool reached;
        unsigned depth;
        uint64_t since;
        FlowEdge *by;          /* the edge of arrival; NULL: the question began here */
        char name[];
};

typedef struct Flow {
        Txn *txn;
        char origin[128], root[HASH_HEX_MAX];
        uint64_t entries;
        struct FlowMaps *maps;
        FlowNode *regions, *last_region; /* in the ledger's order */
        FlowEdge *edges;
} Flow;
/* Reads all entries. Returns 0, HISTORY_E_BROKEN with a message, -errno. */
int flow_read(Txn *t, Flow *ret, Diag *reterr);
void flow_deinit(Flow *f);
#define _cleanup_flow_ _cleanup_(flow_deinit)

/* The subject of a question. */
typedef struct FlowAsked {
        FlowNode *first;   /* the first version, or the region */
        uint64_t version;  /* 0: all */
        bool section;
        char text[256];    /* without the version */
} FlowAsked;
enum {
        FLOW_E_WORD = 1, /* neither the name of a value nor of a region; message */
        FLOW_E_UNKNOWN,  /* the ledger lacks the name or the version; message */
};
/* Parses "slot/NAME@3", "issues/ID", … or, with region_too, a region's id. Returns 0, FLOW_E_*, -errno. */
int flow_ask(Flow *f, const char *what, const char *scope, bool region_too, FlowAsked *ret, Diag *reterr);

/* Marks only the subject of the question as reached. */
void flow_mark(const FlowAsked *a);
/* Follows all edges. *ret: reached nodes, nearest first, without the subject; owned. Returns 0 or -ENOMEM. */
int flow_follow(const FlowAsked *a, FlowNode ***ret, size_t *ret_n);

/* Calls fn for each region that may have read a reached value without a record of the read: an answer never hides a
 * gap. why: text for people. Returns fn's result when not 0, else 0 or -errno. */
typedef int (*FlowUnknownFn)(void *userdata, const FlowNode *region, const char *value_or_null, const char *why);
int flow_unknown(Flow *f, const FlowAsked *a, FlowUnknownFn fn, void *userdata);
/* "slot/NAME@3". */
const char *flow_show(const FlowNode *n, char ret[static 300]);
/* For flow-read.c, flow-ask.c: the region, or the first version of a value; NULL: none. */
FlowNode *flow_region(const Flow *f, const char *id);
FlowNode *flow_versions(const Flow *f, uint64_t scope, const char *name);
/* True for a known value, even without a version. */
bool flow_knows(const Flow *f, uint64_t scope, const char *name);
/* The number of the scope with the name now, or last; 0: none. */
uint64_t flow_scope(const Flow *f, const char *name);
/* The name of a scope, "": none. *ret_before: the earlier scope of the same name, 0: none. */
const char *flow_scope_name(const Flow *f, uint64_t scope, uint64_t *ret_before);
