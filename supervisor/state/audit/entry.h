/* Runs: supervisor, CLI. Inside of audit/: members of a ledger entry. */
#pragma once

#include "base/json.h"

/* "" when the member is no text. */
static inline const char *entry_text(const json_t *o, const char *key) {
        return json_text(json_object_get(o, key)) ?: "";
}

/* 0 when the member is no number. */
static inline uint64_t entry_number(const json_t *o, const char *key) {
        uint64_t v;

        return json_get_u64(json_object_get(o, key), &v) < 0 ? 0 : v;
}
