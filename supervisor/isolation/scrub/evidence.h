/* Runs: supervisor. What is known of a region's storage after its teardown. The record never says more than was done (I-16).
 *
 * grade "nothing_held"    no program of the region was ever started
 *       "unscrubbed"      no process's memory was overwritten: discipline none, or the guard did not live to do it
 *       "partial"         something that was to be overwritten was not, or not provably: bytes_missed and what stands beside it say why
 *       "cleared"         all user memory that the region held when each of its processes ended was overwritten and read back: private
 *                         and shared pages, stacks, arguments, environment, registers, the scratch, deleted files that were open
 *       "cleared_early"   also what it gave back while it ran (discipline multipass)
 *       "cleared_kernel"  also the kernel's own copies and all that was given back early, because this kernel clears whatever it frees
 *                         (init_on_free=1)
 * `not_covered` names each class of storage that may still hold bytes of the region until the kernel gives the pages to someone else, who
 * gets them cleared. */
#pragma once

#include "base/json.h"
#include "base/util.h"
#include "region/region.h"
#include "schema/guard.h"
#include "scrub/scratch.h"
#include "spawn/facts.h"

#define EVIDENCE_CLASSES_MAX 24

typedef struct Evidence {
        Discipline discipline;
        unsigned passes;
        const char *method;         /* "exit_stop": at the exit of each process, by the region's guard; "none" */
        const char *by;             /* who saw to it: "supervisor", "guard" (the supervisor had died), "nobody" */
        const char *grade;
        uint64_t bytes_held, bytes_overwritten, bytes_verified; /* of memory, scratch, sections, when they ended */
        GuardEvidence guard;        /* zeros: nothing is known */
        ScratchWiped scratch;
        uint64_t bytes_unmapped;    /* missed: of shared objects, beyond what any process had mapped at its end */
        bool lengths_unknown;       /* nobody knows how long the shared objects are of which only what was mapped could be overwritten */
        bool nothing_held;
        bool supervisor_died;       /* with all that it held of the region */
        bool watched;               /* what it gave back while it ran was looked for (discipline multipass); freed: what became of it */
        FreedCount freed;
        bool early;                 /* all of that was overwritten */
        RulesetFacts kernel;
        const char *not_covered[EVIDENCE_CLASSES_MAX]; /* NULL-terminated; static strings */
        VaultWiped vault;           /* sections, key and handles (I-16) */
        uint64_t usec;              /* from the known end to the storage given back, all of it overwritten; without store_wait_usec */
        uint64_t store_wait_usec;   /* of that time, what the supervisor waited for its store while nothing that it had set going was under way */
        uint64_t bound_usec;        /* the skill's cancel bound (I-33) */
} Evidence;

/* After all of the region is gone, its scratch and its sections were wiped. */
void evidence_collect(const Region *r, const ScratchWiped *scratch, const VaultWiped *vault, Evidence *ret);
/* Of a region whose supervisor died; guard may be NULL: then nothing is known, and so nothing is claimed. */
void evidence_left(const GuardEvidence *guard, Discipline d, Evidence *ret);
/* Sums, grade and what is not covered, from all other members. */
void evidence_judge(Evidence *e, bool writable_mounts);
/* The "teardown" object of receipt and ledger. New reference, NULL when out of memory. */
json_t *evidence_to_json(const Evidence *e);
