/* Runs: supervisor. The desk: takes one line from a region's pipe, judges it by the permit table, answers with one line. The only place
 * below daemon/ that knows both wings. A hostile line can only ever cause an answer, a recorded refusal, or the end of its own region. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "pipe/line.h"
#include "policy/grant.h"
#include "store/store.h"

enum {
        DESK_E_END = 1, /* the region is to be ended as `denied`, limiting_resource "pipe": message says why */
        DESK_E_STORE,   /* the store cannot record: the region is to be cancelled, no new ones started */
};

typedef struct Desk Desk;

/* copies: from engine_region_start(), borrowed during the call; store and grant are borrowed for the Desk's life. Returns 0, -ENOMEM. */
int desk_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Desk **ret);
void desk_free(Desk *d);
/* The region's vault, borrowed: hello hands its key over, handle.* reaches its sections, and traces of its handles come here. */
struct Vault;
void desk_use_vault(Desk *d, struct Vault *vault);

/* One complete line without its newline; n may be up to PIPE_LINE_MAX. Appends the answer, newline included, to reply (nothing for a
 * notification or an empty line). Whatever is returned, the answer that stands in reply is to be sent. What the answer says is durable.
 * Returns 0, DESK_E_*, -errno. */
int desk_line(Desk *d, const char *line, size_t n, Buf *reply, Diag *reterr);
/* The connection said LINE_TOO_LONG (the line is skipped) or LINE_PARTIAL (n bytes without newline at the end). As desk_line(). */
int desk_bad_frame(Desk *d, LineKind kind, size_t n, Buf *reply, Diag *reterr);
/* What the region said with `result`, or NULL: borrowed. */
const json_t *desk_result(const Desk *d);
/* Records what was only counted so far: further refusals of each code (request.refused) and the summary of log messages
 * (region.logged). Called once before the region's end; also right after it was ended as `denied`. Returns 0, DESK_E_STORE, -errno. */
int desk_finish(Desk *d, Diag *reterr);
