/* Runs: supervisor, CLI. What this machine does with freed and with stored memory: facts that the evidence of a teardown names. */
#pragma once

#include "base/util.h"

typedef struct RulesetFacts {
        bool init_on_free; /* freed pages and freed kernel objects are cleared at once. False also when that cannot be known */
        bool swap;         /* memory may have been written to a disk */
} RulesetFacts;

void kernel_facts(RulesetFacts *ret);
/* Looks up what does not change, for who has nothing else to do now and will be in a hurry then: a kernel's configuration may be a long file. */
void kernel_facts_ahead(void);
