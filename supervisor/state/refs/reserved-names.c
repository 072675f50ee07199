#include "refs/reserved-names.h"

#include <string.h>

static const char *const names[] = {
        /* events */
        "event_id", "seq", "sequence", "time", "payload_json", "raw_input", "source_ref", "applied",
        "applied_successfully", "degraded",
        /* rows */
        "version", "created", "created_event", "last_event", "updated", "state", "status", "lifecycle", "deleted",
        "resolved_by", "reference_memory", "references", "row",
        /* the resolver and the queue */
        "matched_target_id", "candidate_matches", "resolution_reason", "score", "scores", "tau", "delta", "thresholds",
        "pending", "pending_id", "attempts", "last_attempt",
        /* identity and place */
        "scope", "scope_id", "agent", "agent_id", "run", "run_id", "region", "region_id", "policy", "who", "uid",
        "operator", "key", "region_key", "grant", "supervisor", "signature", "hash", "checkpoint",
        /* derived views */
        "support", "lineage", "invalidation", "cleanup",
};

bool reserved_name_is(const char *name) {
        return name_index(names, ARRAY_SIZE(names), name) < ARRAY_SIZE(names);
}
