/* Runs: supervisor, CLI. An import and its checks (transfer.h). For object/import*.c alone. */
#pragma once

#include "object/transfer.h"

typedef struct Import {
        Txn *t;
        const ObjectBundle *b;
        const char *who, *id, *how;
        uint64_t max_objects;
        ObjectRow row;   /* before the import; n 0: not here */
        uint64_t common; /* number of common entries */
        json_t *keys;    /* {KEYID: vkey} of signers without trust; owned */
        bool unknown;    /* a signer has no trust */
        bool other;      /* another object with the id is here */
} Import;

/* The checks of import-check.c and import-scope.c leave the store as is. Return values: 0, a positive EngineCode with
 * a message, -errno. */
/* O-9: the keys of the file; fills keys and unknown. */
int import_judge_keys(Import *i, Diag *reterr);
/* O-9: an object of strangers gives way, any other with the id stays. */
int import_check_other(const Import *i, Diag *reterr);
/* O-9: a stranger's entry stops no object of trusted signers. */
int import_check_trust(const Import *i, Diag *reterr);
/* Bounds: keys without trust in the row, and objects.max of the policy (O-25). */
int import_check_room(const Import *i, Diag *reterr);
int import_check_max(const Import *i, Diag *reterr);
/* O-25: the scope of a child is within the scope of the parent, in any order of imports. */
int import_check_parent(const Import *i, Diag *reterr);
int import_check_children(const Import *i, Diag *reterr);
