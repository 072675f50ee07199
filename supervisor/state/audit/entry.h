/* Runs: supervisor, CLI. Inside of audit/: members of a ledger entry. */
#pragma once

#include "base/json.h"

/* 0 when the member is no number. */
static inline uint64_t entry_number(const json_t *o, const char *key) {
        uint64_t v;

        return json_get_u64(json_object_get(o, key), &v) < 0 ? 0 : v;
}
