/* Runs: supervisor, CLI. Canonical slots as people and programs read them. Everything comes back as JSON objects; integers by json_u64(). */
#pragma once

#include "engine/engine.h"

/* {"slot","version","seq","time","region"|"who","arbitrated"?,"value"}, arbitrated being the seq of the verdict by which it is the value; version 0 asks for the newest. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED,
 * ENGINE_E_NO_VALUE (also: no such version; the message says which there are), -errno. */
int belief_slot_get(Txn *t, const char *name, uint64_t version, json_t **ret, Diag *reterr);
/* The newest version's number, 0 when there is none. */
int belief_slot_version(Txn *t, const char *name, uint64_t *ret, Diag *reterr);
/* Array of {"slot","version","defined","seq"?,"held"?:{"region","version"},"rule"?,"gathered"?: number} by name. */
int belief_slot_list(Txn *t, json_t **ret);
/* Array of {"version","seq","time","region"|"who","arbitrated"?,"bytes","sha256"}, oldest first. */
int belief_slot_history(Txn *t, const char *name, json_t **ret, Diag *reterr);
