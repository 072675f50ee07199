/* Runs: supervisor, CLI. For cognition.c: recall and the gate Q in one step, A_t and A_t+ (C-21..C-23, C-25). Reads only.
 *
 * A refused artifact takes no place among the k. Refused artifacts are listed apart, at most k, for the turn's record. */
#pragma once

#include "cognition/recall.h"

typedef struct Recalled {
        struct {
                char id[RECORD_ID_MAX], label[33];
                uint64_t version;
                Kind kind;
                EvidenceSource source;
                QualifyClause clause; /* QUALIFY_OK: qualified; the qualified stand first, best first */
        } item[2 * RECALL_K_MAX];
        size_t n, n_good;
} Recalled;

/* scope: of the session; other: a further scope's number, 0: none. k: at most RECALL_K_MAX. 0, -EUCLEAN, -errno. */
int gather(Txn *t, uint64_t scope, uint64_t other, const Ccs *state, const RecallQuery *q, size_t k, Recalled *ret);
