/* Runs: CLI. The delegation tree of an object as a drawing (O-24, O-27): an SVG file without scripts and without
 * references to files, for light and dark screens. Equal stores give equal bytes. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "store/table.h"

#define OBJECT_GRAPH_NODES_MAX 4096
#define OBJECT_GRAPH_DEPTH_MAX 64 /* an imported object may claim any children, and so its parents */

/* The tree below the object, with the states as the store knows them; nodes beyond the bounds are left out, and the
 * drawing says so. Returns 0, ENGINE_E_NO_OBJECT and the other codes of object.h with a message, -errno. */
int object_graph(Txn *t, const char *id, Buf *ret, Diag *reterr);
