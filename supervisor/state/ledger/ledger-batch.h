/* Runs: supervisor, CLI. Inside of ledger/: the ledger's state in a write transaction. */
#pragma once

#include "ledger/ledger.h"

typedef struct LedgerBatch {
        LedgerTree tree;
        uint64_t begun; /* size at the start of the batch */
        bool anchor;    /* ledger_want_anchor() was called */
        char note[NOTE_MAX]; /* the signed checkpoint, set before the commit */
        size_t n_note;
} LedgerBatch;

/* The state of transaction t; the first call reads the tree. Returns 0, -EUCLEAN for an older copy, -errno. */
int ledger_batch(Txn *t, LedgerBatch **ret);
/* Notes the tree as the newest that this process has seen. */
void ledger_mark_seen(Txn *t, const LedgerTree *tree);
/* Returns 0, or -EUCLEAN (with a line in the log) when the tree is older than the newest that this process has seen. */
int ledger_is_behind(Txn *t, const LedgerTree *tree);
