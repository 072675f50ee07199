/* Runs: supervisor, CLI. What a kernel refers to, for ruleset_diff() and ruleset_merge(), which know things by their ids (M-28). */
#pragma once

#include "base/json.h"

/* Of an array of references: {"id":"KIND/ID ROLE","ref":{"kind","id","strength","role"}} each, with what was left out filled in; no rule has such an id. One
 * that does not say what it refers to is left out. NULL: no memory. */
json_t *ruleset_refs_named(const json_t *refs);
/* And back. */
json_t *ruleset_refs_of(const json_t *named);
