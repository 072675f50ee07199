/* Runs: supervisor, CLI. The types of events, in one list (event-types.def): a trigger of an object waits for a type of
 * this list alone, and lineage details are judged by it. */
#pragma once

#include "base/util.h"

typedef enum EventDetail { EVENT_DETAIL_STATS, EVENT_DETAIL_EVENTS, EVENT_DETAIL_HANDLES } EventDetail;

bool event_type_known(const char *type);
/* The least lineage detail with an entry for the type; EVENT_DETAIL_EVENTS for an unknown type. */
EventDetail event_type_detail(const char *type);
