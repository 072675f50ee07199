/* Runs: supervisor, CLI. The ledger's side of `verify` (O-46): effects of executions beside the entries of objects. */
#pragma once

#include "object/object.h"

#define VERIFY_FINDINGS_MAX 64

/* Adds {"code","message"} to an array, up to the bound; further ones are counted in *n. Returns 0 or -ENOMEM. */
_printf_(4, 5) int verify_note(json_t *findings, size_t *n, const char *code, const char *fmt, ...);
/* Walks the ledger once. id: of one object, or NULL: of all. */
int verify_ledger(Txn *t, const char *id, json_t *findings, size_t *n);
