/* Runs: supervisor. The desk: takes one line from a region's pipe, judges it by the permit table, answers with one line. The only place
 * below daemon/ that knows both wings. A hostile line can only ever cause an answer, a recorded refusal, or the end of its own region. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "policy/grant.h"
#include "store/store.h"

enum {
        DESK_E_END = 1, /* the region is to be ended as `denied`, limiting_resource "pipe": message says why */
        DESK_E_STORE,   /* the store cannot record: the region is to be cancelled, no new ones started */
};

typedef struct Desk Desk;

/* copies: from engine_region_start (borrowed during the call). All else is borrowed for the Desk's life. */
int desk_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Desk **ret);
void desk_free(Desk *d);

/* One complete line without its newline; n may be up to PIPE_LINE_MAX. Appends the answer, newline included, to reply (nothing for a
 * notification). Returns 0, DESK_E_*, -errno. */
int desk_line(Desk *d, const char *line, size_t n, Buf *reply, Diag *reterr);
/* The reader found a line longer than PIPE_LINE_MAX (it is skipped), or bytes without newline at the end. */
int desk_bad_frame(Desk *d, const char *code, Buf *reply, Diag *reterr);
/* What the region said with `result`, or NULL: borrowed. And counts for the receipt. */
const json_t *desk_result(const Desk *d);
/* Writes the coalesced request.refused events that are still due; called once before the region's end. */
int desk_finish(Desk *d, Diag *reterr);
