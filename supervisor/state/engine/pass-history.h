/* Runs: supervisor, CLI. The passes of a scope so far: the row of the scope names the last pass, and each pass the pass
 * before. */
#pragma once

#include "engine/project.h"

/* Number and event of the scope's last pass, 0 and 0 for none. */
int pass_last(Txn *t, uint64_t scope, uint64_t *ret_number, uint64_t *ret_seq);
/* The event of the pass before the pass of event `seq`; 0: none. */
int pass_before(Txn *t, uint64_t seq, uint64_t *ret);
/* The pass since which the record has no support, by the record of the last pass. -ENOENT: not listed. */
int pass_unsupported_since(Txn *t, const RecordKey *k, uint64_t *ret_pass);
/* The pass that archived the record. 0, -EUCLEAN. */
int pass_of_archival(Txn *t, const Record *rec, uint64_t *ret_pass);
/* The time of the record's archival. 0, -EUCLEAN. */
int pass_archived_usec(Txn *t, const Record *rec, uint64_t *ret_usec);

/* For scope.c: erases the bodies of the scope's passes. For project.c: updates the row of the scope. */
int pass_erase(Txn *t, uint64_t scope);
int pass_project(Txn *t, const Projection *p);
