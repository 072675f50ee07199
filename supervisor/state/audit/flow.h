/* Runs: CLI. The readers of a value, and its consequences (I-77): a graph of the ledger's entries, made anew for each question. No table is kept for it,
 * so that no launch pays for an answer that is seldom asked for; entries that say nothing of it are passed over without being parsed.
 *
 *     value   a version of a slot (slot/NAME), of a record (FAMILY/ID, BUCKET/ID, of a scope), of a section (section/REGION/NAME), a note (note/RUN)
 *     edge    value -> region      it read it
 *             region -> value      it wrote it; it had a say in the verdict on it
 *             value -> value       a note became belief; a version that goes on with the one before; a pass of the digest that archived it
 *             region -> region     it started it (arguments, input); it answered it; they share sections
 *
 * A region that is reached by a value hands on what it did from then on: a slot is read at the region's beginning; of a record nobody knows the moment, so that
 * all that the region did counts. Answers are of the entries that the checkpoint was signed for. */
#pragma once

#include "audit/history.h"
#include "base/diag.h"
#include "base/id.h"
#include "base/json.h"
#include "store/table.h"

typedef enum FlowKind { FLOW_VALUE, FLOW_REGION, FLOW_PERSON } FlowKind;
typedef enum FlowHow {
        FLOW_WROTE,     /* region or person -> value */
        FLOW_SAID,      /* region -> version of a slot that a verdict on the proposals of several chose */
        FLOW_READ,      /* value -> region */
        FLOW_CONSULTED, /* value -> region, as evidence of a gate */
        FLOW_STARTED,   /* region -> region below: arguments and input */
        FLOW_ANSWERED,  /* region -> region above: result and output */
        FLOW_SHARED,    /* between both, where the one above lends its key: sections */
        FLOW_BECAME,    /* note -> belief; proposals of a digest -> record */
        FLOW_WENT_ON,   /* version -> next version */
} FlowHow;
const char *flow_how_word(FlowHow how); /* "wrote", "had a say in", "read", "consulted", "started", "answered", "shared sections with", "became", "went on as" */

typedef struct FlowNode FlowNode;
typedef struct FlowEdge {
        FlowNode *from, *to;
        struct FlowEdge *next_out, *next_in, *next; /* of one node, by the ledger's order; of all */
        FlowHow how;
        uint64_t seq;     /* of the entry that says so */
        uint64_t moment;  /* when it came out of `from`: what reached that one later is not in it */
        uint64_t since;   /* from when on it is in `to`, a region */
} FlowEdge;

/* The acts of a region that are not recorded piece by piece. */
typedef struct FlowGaps {
        uint64_t slots, belief, memory; /* reads that are only counted: at lineage stats, beyond the bound of an entry, or by an older Lethe */
        uint64_t told;                  /* a note and shared belief on its standard input, as an advisor, at lineage stats */
        uint64_t handles;               /* uses of handles that had no room in its record */
        bool alive;                     /* what it reads of belief and memory is recorded at its end */
        bool lost;                      /* its supervisor died: that was not recorded */
} FlowGaps;

struct FlowNode {
        FlowKind kind;
        uint64_t scope;        /* of a record: the scope's number; 0: none */
        uint64_t version;      /* of a value */
        uint64_t born, ended;  /* seq; a region that has not ended: UINT64_MAX */
        FlowNode *next;        /* region: the next one of the ledger; value: the next version that was written */
        FlowEdge *in, *last_in, *out, *last_out;

        /* Of a region. */
        Bytes entry;           /* region.allocated, borrowed from the transaction */
        char skill[80];
        bool refused;          /* by a gate: it never began */
        bool lends, callback;
        bool stats, handles;   /* lineage detail; neither: events */
        FlowNode *above;
        FlowNode *last_callback; /* of those that share its sections */
        FlowEdge *from_above;  /* of shared sections */
        FlowGaps gaps;

        /* Of a question. */
        bool reached;
        unsigned depth;
        uint64_t since;
        FlowEdge *by;          /* NULL: the question began here */
        char name[];
};

typedef struct Flow {
        Txn *txn;
        char origin[128], root[HASH_HEX_MAX];
        uint64_t entries;
        struct FlowMaps *maps;
        FlowNode *regions, *last_region; /* by the ledger's order */
        FlowEdge *edges;
} Flow;
/* Reads all entries. Returns 0, HISTORY_E_BROKEN with a message, -errno. */
int flow_read(Txn *t, Flow *ret, Diag *reterr);
void flow_deinit(Flow *f);
#define _cleanup_flow_ _cleanup_(flow_deinit)

/* The subject of a question. */
typedef struct FlowAsked {
        FlowNode *first;   /* the first of the versions, or the region */
        uint64_t version;  /* 0: all */
        bool section;
        char text[256];    /* without the version */
} FlowAsked;
enum {
        FLOW_E_WORD = 1, /* not the name of a value or region; message */
        FLOW_E_UNKNOWN,  /* the ledger has no such one, or not that version; message */
};
/* "slot/NAME@3", "memory_substrate/ID", "note/RUN@1", … or a region's id, when that may be asked. scope: of records. Returns 0, FLOW_E_*, -errno. */
int flow_ask(Flow *f, const char *what, const char *scope, bool region_too, FlowAsked *ret, Diag *reterr);

/* Marks what was asked about as reached, and nothing else. */
void flow_mark(const FlowAsked *a);
/* Follows all edges from what was asked about. *ret: what was reached, nearest first, without the beginning; owned. Returns 0 or -ENOMEM. */
int flow_follow(const FlowAsked *a, FlowNode ***ret, size_t *ret_n);

/* Regions that may have read a reached value, without a record of it: never a silent none. why: for people. Returns what fn returned when that is not 0,
 * else 0 or -errno. */
typedef int (*FlowUnknownFn)(void *userdata, const FlowNode *region, const char *value_or_null, const char *why);
int flow_unknown(Flow *f, const FlowAsked *a, FlowUnknownFn fn, void *userdata);
/* "slot/NAME@3" */
const char *flow_show(const FlowNode *n, char ret[static 300]);
/* For flow-read.c, flow-ask.c: the region, or the first version of a value; NULL when there is none. */
FlowNode *flow_region(const Flow *f, const char *id);
FlowNode *flow_versions(const Flow *f, uint64_t scope, const char *name);
/* There is such a value, be it without any version. */
bool flow_knows(const Flow *f, uint64_t scope, const char *name);
/* The number of the scope that has the name now, or had it last; 0: none. */
uint64_t flow_scope(const Flow *f, const char *name);
/* The name of a scope, "" when there is none; *ret_before: the one that had the name before, 0 for none. */
const char *flow_scope_name(const Flow *f, uint64_t scope, uint64_t *ret_before);
