/* Runs: supervisor, CLI. The difference of two cognitive states, field by field (C-18). Pure. */
#pragma once

#include "base/buf.h"
#include "cognition/ccs.h"

typedef enum CcsChangeKind {
        CCS_REMOVED, /* '-' */
        CCS_ADDED,   /* '+' */
        CCS_MOVED,   /* '>': an older atom stands before it now */
} CcsChangeKind;

typedef struct CcsChange {
        CcsField field;
        CcsChangeKind kind;
        const char *atom; /* borrowed from the states */
} CcsChange;

typedef struct CcsDiff {
        CcsChange changes[CCS_FIELDS * CCS_ATOMS_MAX * 2];
        size_t n; /* 0: the states are equal */
} CcsDiff;

/* From a to b, in the order of the fields: what was removed, in a's order, then what was added or moved, in b's. */
void ccs_diff(const Ccs *a, const Ccs *b, CcsDiff *ret);
/* A line `field:` for each field with changes, and a line ` - atom`, ` + atom` or ` > atom` a change. Returns 0,
 * -ENOMEM, -EFBIG. */
int ccs_diff_print(const CcsDiff *d, Buf *out);
