/* Runs: supervisor, CLI. Canonical slots, and the proposals and verdicts of slots with a rule of arbitration, for
 * people and programs: as JSON objects, integers by json_u64(). Values of losing proposals are not shown. */
#pragma once

#include "engine/engine.h"

/* {"slot","version","seq","time","region"|"who","arbitrated"?,"value"}; arbitrated: the seq of the verdict that chose
 * the value; version 0: the newest. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED, ENGINE_E_NO_VALUE (also for an
 * unknown version; the message has the range), -errno. */
int belief_slot_get(Txn *t, const char *name, uint64_t version, json_t **ret, Diag *reterr);
/* The newest version's number, 0 without a value. */
int belief_slot_version(Txn *t, const char *name, uint64_t *ret, Diag *reterr);
/* Array of {"slot","version","defined","seq"?,"held"?:{"region","version"},"rule"?,"gathered"?: number} by name. */
int belief_slot_list(Txn *t, json_t **ret);
/* Array of {"version","seq","time","region"|"who","arbitrated"?,"bytes","sha256"}, oldest first. */
int belief_slot_history(Txn *t, const char *name, json_t **ret, Diag *reterr);

/* {"rule":{…},"gathered":[{"seq","region","skill","time"}],"round"? (round_show())} of a slot with a rule:
 * proposals before their verdict, by seq; NULL without a rule. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED, -errno. */
int belief_gathered(Txn *t, const char *name, json_t **ret, Diag *reterr);
/* Array of all verdicts, oldest first: the members of slot.arbitrated and "seq". Returns as above. */
int belief_verdict_list(Txn *t, const char *name, json_t **ret, Diag *reterr);
/* The newest verdict, or JSON null. */
int belief_verdict_newest(Txn *t, const char *name, json_t **ret, Diag *reterr);
/* The first verdict after event `seq`, on the proposal of that event. Returns 0, -ENOENT when still open, -errno. */
int belief_verdict_after(Txn *t, const char *name, uint64_t seq, json_t **ret);
