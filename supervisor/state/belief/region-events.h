/* Runs: supervisor, CLI. The events of one region, without walking over the whole ledger and without an index: its id has the time at which it was
 * made, entries are in the order of their times, and the end of the invocation is a region's last event. */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "ledger/ledger.h"

enum {
        REGION_EVENTS_E_NONE = 1, /* nothing occurred in such a region */
};

typedef struct RegionEvents {
        Txn *txn;
        LedgerWalk walk;
        char region[REGION_ID_MAX];
        uint64_t size;  /* of the ledger */
        uint64_t first; /* number of the region's first event */
        bool over;      /* the last one was given */
} RegionEvents;
#define REGION_EVENTS_NULL ((RegionEvents){0})

/* region: a valid id. Where its clock was wrong the whole ledger is looked through. Returns 0, REGION_EVENTS_E_NONE, -errno. */
int region_events(Txn *t, const char *region, RegionEvents *ret);
/* The next one, entry and what it says; *ret_o is owned. Returns 0, -ENOENT at the end, -errno. */
int region_events_next(RegionEvents *e, uint64_t *ret_seq, Bytes *ret_entry, json_t **ret_o);
void region_events_deinit(RegionEvents *e);
#define _cleanup_region_events_ _cleanup_(region_events_deinit)
