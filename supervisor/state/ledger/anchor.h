/* Runs: supervisor, CLI. Anchor: a copy of the newest checkpoint outside the store, so that putting an older copy of the whole store in
 * its place is noticed. At LETHE_ANCHOR, else $XDG_STATE_HOME/lethe-anchors/<hash of the store's real path>, else under HOME, else
 * inside the store (which then proves nothing against a rollback of the folder: `lethe doctor` says so). */
#pragma once

#include "base/diag.h"
#include "store/store.h"

/* `--anchor FILE`: before LETHE_ANCHOR. The string is borrowed for the life of the process. */
void anchor_set_path(const char *file);
/* It was given, and names nothing. */
bool anchor_is_empty(void);
/* What --anchor or LETHE_ANCHOR says, or NULL. */
const char *anchor_said(void);
/* Owned path; *ret_inside (may be NULL) tells that there was no place outside the store. */
char *anchor_path(const Store *s, bool *ret_inside);
/* Replaces the anchor; a failure is logged once and harms nothing but the protection. */
void anchor_write(Store *s, const char *note, size_t n);
/* Returns 0, STORE_E_ROLLBACK with what the anchor has and what the store has, -errno. */
int anchor_check(Store *s, Diag *reterr);
