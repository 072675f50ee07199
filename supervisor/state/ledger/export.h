/* Runs: supervisor, CLI. The ledger as static files for independent verifiers (c2sp.org/tlog-tiles): checkpoint, vkey,
 * tile/<L>/<N>[.p/W] and tile/entries/<N>[.p/W]. */
#pragma once

#include "ledger/ledger.h"

enum {
        EXPORT_E_PLACE = 1, /* the folder is not empty, or cannot be made or written: the message says why */
};

/* Writes the ledger as of the last commit into `dir`, which is new or empty. The checkpoint is written last and makes
 * the export complete. Returns 0, EXPORT_E_PLACE, STORE_E_FULL, -errno. */
int export_write(Txn *t, const char *dir, Checkpoint *ret, Diag *reterr);
/* "tile/<L>/x001/x234/067", with ".p/W" for a width below 256; level -1: entries. */
#define EXPORT_PATH_MAX 96
void export_tile_path(int level, uint64_t n, unsigned width, char out[static EXPORT_PATH_MAX]);
