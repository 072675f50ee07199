/* Runs: supervisor, CLI. Ids for new rows of governed memory, from the words of the text. */
#pragma once

#include "record/record.h"

#define SLUG_WORDS 6
#define SLUG_BYTES 48

/* The first words of the text as an id (G-22); _2, _3 … follow for an id used now or before. Returns 0 or -errno. */
int slug_new(Txn *t, uint64_t scope, Kind kind, const char *text, char ret[static RECORD_ID_MAX]);
