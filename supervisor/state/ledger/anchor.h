/* Runs: supervisor, CLI. Anchor: a copy of the newest checkpoint outside the store, so that a replacement of the whole
 * store by an older copy is noticed. Place: LETHE_ANCHOR, else $XDG_STATE_HOME/lethe-anchors/<hash of the store's real
 * path>, else under HOME, else inside the store (no protection against a rollback of the folder: `lethe doctor`). */
#pragma once

#include "base/diag.h"
#include "store/store.h"

/* `--anchor FILE`: has precedence over LETHE_ANCHOR. The string is borrowed for the life of the process. */
void anchor_set_path(const char *file);
/* `--anchor` was given with an empty text. */
bool anchor_is_empty(void);
/* The file of --anchor or LETHE_ANCHOR, or NULL. */
const char *anchor_said(void);
/* Owned path; *ret_inside (may be NULL) tells that there was no place outside the store. */
char *anchor_path(const Store *s, bool *ret_inside);
/* Replaces the anchor. A failure is logged once and harms only the protection. */
void anchor_write(Store *s, const char *note, size_t n);
/* Returns 0, STORE_E_ROLLBACK with the entries of the anchor and of the store, -errno. */
int anchor_check(Store *s, Diag *reterr);
