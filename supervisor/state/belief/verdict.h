/* Runs: supervisor, CLI. What was proposed for slots with a rule of arbitration, and what became of it, as people and programs read it. Values of what is
 * not taken are not told. */
#pragma once

#include "engine/engine.h"

/* {"rule":{…},"gathered":[{"seq","region","skill","time"}]} of a slot with a rule: what waits for its verdict, by seq; NULL of one without. Returns 0,
 * ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED, -errno. */
int belief_gathered(Txn *t, const char *name, json_t **ret, Diag *reterr);
/* Array of all verdicts, oldest first: the members of slot.arbitrated and "seq". Returns as above. */
int belief_verdict_list(Txn *t, const char *name, json_t **ret, Diag *reterr);
/* The newest one, or JSON null. */
int belief_verdict_newest(Txn *t, const char *name, json_t **ret, Diag *reterr);
/* The first one after event `seq`: that on what this event gathered. Returns 0, -ENOENT when there is none yet, -errno. */
int belief_verdict_after(Txn *t, const char *name, uint64_t seq, json_t **ret);
