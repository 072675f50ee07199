/* Runs: supervisor, CLI. The events of a region, without an index and without a walk over the whole ledger: a region's
 * id has the time of its creation, entries are in order of time, and the invocation's end is a region's last event. */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "ledger/ledger.h"

enum {
        REGION_EVENTS_E_NONE = 1, /* the ledger has no event of the region */
};

typedef struct RegionEvents {
        Txn *txn;
        LedgerWalk walk;
        char region[REGION_ID_MAX];
        uint64_t size;  /* of the ledger */
        uint64_t first; /* number of the region's first event */
        bool beyond_end; /* set by the caller: events after the end of the invocation are given, too */
        bool over;      /* the last event was given */
} RegionEvents;
#define REGION_EVENTS_NULL ((RegionEvents){0})

/* region: a valid id. When the clock was wrong, the whole ledger is read. Returns 0, REGION_EVENTS_E_NONE, -errno. */
int region_events(Txn *t, const char *region, RegionEvents *ret);
/* The next entry, as bytes and as JSON; *ret_o is owned. Returns 0, -ENOENT at the end, -errno. */
int region_events_next(RegionEvents *e, uint64_t *ret_seq, Bytes *ret_entry, json_t **ret_o);
void region_events_deinit(RegionEvents *e);
#define _cleanup_region_events_ _cleanup_(region_events_deinit)
