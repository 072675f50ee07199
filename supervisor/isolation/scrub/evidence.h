/* Runs: supervisor. The evidence on a region's storage after its teardown. The record never claims more than was done
 * (I-16).
 *
 * grade "nothing_held"    no program of the region was ever started
 *       "unscrubbed"      no process memory was overwritten: discipline none, or the guard died before
 *       "partial"         an overwrite failed or lacks proof: bytes_missed and the counters beside it say why
 *       "cleared"         all user memory held at the end of each process was overwritten and read back: private and
 *                         shared pages, stacks, arguments, environment, registers, the scratch, open deleted files
 *       "cleared_early"   also the memory given back by the running region (discipline multipass)
 *       "cleared_kernel"  also the kernel's own copies and all memory given back early: this kernel clears freed pages
 *                         (init_on_free=1)
 * `not_covered` names each class of storage with possible rests of the region. The kernel clears a page for the next
 * owner. */
#pragma once

#include "base/json.h"
#include "base/util.h"
#include "region/region.h"
#include "schema/guard.h"
#include "scrub/scratch.h"
#include "spawn/probe.h"

#define EVIDENCE_CLASSES_MAX 24

typedef struct TeardownEvidence {
        Discipline discipline;
        unsigned passes;
        const char *method;         /* "exit_stop": at the exit of each process, by the region's guard; "none" */
        const char *by;             /* the overwriter: "supervisor", "guard" (the supervisor had died), "nobody" */
        const char *grade;
        uint64_t bytes_held, bytes_overwritten, bytes_verified; /* of memory, scratch, sections, at their end */
        GuardEvidence guard;        /* zeros: no evidence */
        ScratchWiped scratch;
        uint64_t bytes_unmapped; /* missed bytes of shared objects, beyond their largest mapping at an end */
        bool lengths_unknown; /* unknown lengths of shared objects: only the mapped part was overwritten */
        bool nothing_held;
        bool supervisor_died;       /* with all of its copies of the region's data */
        bool watched; /* memory given back at run time was tracked (discipline multipass); the result is in `freed` */
        FreedCount freed;
        bool early;                 /* all of that memory was overwritten */
        RulesetFacts kernel;
        const char *not_covered[EVIDENCE_CLASSES_MAX]; /* NULL-terminated; static strings */
        VaultWiped vault;           /* sections, key and handles (I-16) */
        uint64_t usec; /* from the known end to the storage given back and overwritten; without store_wait_usec */
        uint64_t store_wait_usec; /* the part spent waiting for the store, with no other order pending */
        uint64_t bound_usec;        /* the skill's cancel bound (I-33) */
} TeardownEvidence;

/* Called when the region is gone, and scratch and sections are wiped. */
void evidence_collect(const Region *r, const ScratchWiped *scratch, const VaultWiped *vault, TeardownEvidence *ret);
/* For a region whose supervisor died. guard: NULL when unknown; the record then claims nothing. */
void evidence_left(const GuardEvidence *guard, Discipline d, TeardownEvidence *ret);
/* For a session's own region, which never had a process: its sections. resumed: earlier hosts died with theirs. */
void evidence_of_session(Discipline d, unsigned passes, const VaultWiped *vault, bool resumed, TeardownEvidence *ret);
/* Computes sums, grade and not_covered from all other members. */
void evidence_judge(TeardownEvidence *e, bool writable_mounts);
/* The "teardown" object of receipt and ledger. New reference, NULL when out of memory. */
json_t *evidence_to_json(const TeardownEvidence *e);
