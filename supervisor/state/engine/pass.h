/* Runs: supervisor, CLI. A pass of the digest: the only way into the states archived and removed. What a routine proposed is judged here anew, all of it
 * against the refgraph as it was before the pass, and then all of it is done in one transaction, or nothing (M-34, M-36, M-37, M-43..M-47, M-50). */
#pragma once

#include "engine/reason.h"

typedef struct PassStep {
        Op op;           /* OP_ARCHIVE, OP_REMOVE */
        RecordKey key;   /* its scope is the pass's */
        Reason reason;
        bool by_person;  /* approved by name; else its reason is to be one of `admitted` */
} PassStep;

typedef struct Pass {
        const char *routine; /* a registered one: "digest" (M-40) */
        const char *scope;   /* name */
        uint64_t number;     /* the one after the scope's last (M-37) */
        unsigned admitted;   /* reasons for archiving that are approved by policy: 1 << code | … */
        unsigned admitted_removal; /* the same for removal */
        const PassStep *steps;
        size_t n;
        const json_t *record; /* what led to it: findings, candidates, evidence, approvals, blocked; its body */
        const char *proposer; /* the region in which it was proposed, which is over by now; NULL: in none */
        const char *who, *region;
} Pass;
#define PASS_STEPS_MAX 65536

bool routine_is_registered(const char *name);

/* Returns 0, or the code for the first step that is refused, with nothing done: ENGINE_E_NOT_GRANTED (the routine, or the approval), ENGINE_E_NO_SCOPE,
 * ENGINE_E_CONFLICT (the number, a record twice, a reason that does not hold, removal by the pass that archived), ENGINE_E_BAD_OPERATION (a kernel or
 * another kind that is not for cleaning up), ENGINE_E_NO_RECORD, ENGINE_E_BAD_STATE, ENGINE_E_DEPENDENTS (a blocker); -errno. On refusal mutation.refused
  * is in the transaction: commit it all the same. */
int engine_pass(Txn *t, const Pass *p, uint64_t *ret_seq, Diag *reterr);

/* Number and event of the scope's last pass, 0 and 0 when there was none. */
int pass_last(Txn *t, uint64_t scope, uint64_t *ret_number, uint64_t *ret_seq);
/* The pass before the one of this event; 0: none. */
int pass_before(Txn *t, uint64_t seq, uint64_t *ret);
/* Since which pass nothing supports the record, as the last pass has it in its record. -ENOENT: it does not say so. */
int pass_unsupported_since(Txn *t, const RecordKey *k, uint64_t *ret_pass);
/* Of the event that archived a record: by which pass. 0, -EUCLEAN. */
int pass_of_archival(Txn *t, const Record *rec, uint64_t *ret_pass);

/* For scope.c: what the passes of a scope recorded. For project.c: the row of the scope. */
int pass_erase(Txn *t, uint64_t scope);
int pass_project(Txn *t, uint64_t seq, const json_t *entry);
