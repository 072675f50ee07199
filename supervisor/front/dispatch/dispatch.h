/* Runs: supervisor. The dispatch: takes one line from a region's pipe, judges it by the permit table, answers with one line. The only place
 * below daemon/ that knows both wings. A hostile line can only ever cause an answer, a recorded refusal, or the end of its own region. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/line.h"
#include "policy/grant.h"
#include "store/store.h"

enum {
        DISPATCH_E_END = 1, /* the region is to be ended as `denied`, limiting_resource "pipe": message says why */
        DISPATCH_E_STORE,   /* the store cannot record: the region is to be cancelled, no new ones started */
};

typedef struct Dispatch Dispatch;

/* copies: from engine_region_start(), borrowed during the call; store and grant are borrowed for the Dispatch's life. Returns 0, -ENOMEM. */
int dispatch_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Dispatch **ret);
void dispatch_free(Dispatch *d);
/* The region's vault, borrowed: hello hands its key over, handle.* reaches its sections, and traces of its handles come here. */
struct Vault;
void dispatch_use_vault(Dispatch *d, struct Vault *vault);

/* The region is told that nothing of what it proposes is kept: a region above it broke its budget (I-98). */
void dispatch_set_discards(Dispatch *d);

/* One complete line without its newline; n may be up to PIPE_LINE_MAX. Appends the answer, newline included, to reply (nothing for a
 * notification or an empty line). Whatever is returned, the answer that stands in reply is to be sent. What the answer says is durable, but for
 * memory.save and memory.delete that are taken.
 * Returns 0, DISPATCH_E_*, -errno. */
int dispatch_line(Dispatch *d, const char *line, size_t n, Buf *reply, Diag *reterr);
/* The connection said LINE_TOO_LONG (the line is skipped) or LINE_PARTIAL (n bytes without newline at the end). As dispatch_line(). */
int dispatch_bad_frame(Dispatch *d, LineKind kind, size_t n, Buf *reply, Diag *reterr);
/* What a region asks for with skill.run; all borrowed during the call. */
typedef struct DispatchStart {
        const json_t *id;        /* of the request: for dispatch_answer_started() */
        const char *skill;       /* a name of the grant's sub_skills */
        const char *entry;       /* NULL: main */
        const char *const *args; /* NULL-terminated */
        const char *input;       /* standard input, may be NULL */
        size_t n_input;
} DispatchStart;
enum {
        DISPATCH_START_E_SKILL = 1, /* not registered, changed since, or without that entry */
        DISPATCH_START_E_REFUSED,   /* the policy or this machine does not let it run */
        DISPATCH_START_E_TOO_MANY,  /* too deep, too many at once or in all */
        DISPATCH_START_E_BUDGET,    /* too little is left of the region's budget */
        DISPATCH_START_E_STORE,     /* the store cannot record */
};
/* Starts it. Returns 0, DISPATCH_START_E_* with a message for the region (nothing of the host in it), -errno. */
typedef int (*DispatchStartFn)(void *userdata, const DispatchStart *start, Diag *reterr);
/* Without one, every skill.run is refused. */
void dispatch_set_starter(Dispatch *d, DispatchStartFn fn, void *userdata);
/* The answer to a skill.run, when what it started is recorded. result is borrowed. Returns 0, -ENOMEM. */
int dispatch_answer_started(const json_t *id, json_t *result, Buf *reply);
/* n bytes of what a region wrote to its standard output are kept from the one that started it: they hold a key. Returns as dispatch_line(). */
int dispatch_output_refused(Dispatch *d, size_t n, Diag *reterr);
/* What the region said with `result`, or NULL: borrowed. */
const json_t *dispatch_result(const Dispatch *d);
/* How many notes the region added: of the run that has its id. */
uint64_t dispatch_notes(const Dispatch *d);
/* What the region saved and deleted of typed memory is held by its dispatch, and is in the ledger from its end on (I-24): in t, the transaction of that end and
 * before it, all of it in order, where what is refused now leaves mutation.refused; or, without keep, memory.discarded with how many and the reason. May be
 * called again when t was taken back. Returns 0, -errno. */
int dispatch_memory_end(Dispatch *d, Txn *t, bool keep, const char *reason);
bool dispatch_holds_memory(const Dispatch *d);
/* What dispatch_memory_end() came to, for the receipt: {"held","committed","discarded","refused":[{"op","scope","kind","id","code"}]}; NULL: nothing was held.
 * Borrowed. */
const json_t *dispatch_memory_ended(const Dispatch *d);
/* context.read: what a region is told of a note and of shared belief on its standard input: {"scope", "run", "note", "rows": [{"kind","id","version"}…]}. In
 * the transaction of its beginning. Returns 0, -errno. */
int dispatch_record_given(Txn *t, const Grant *grant, const char *region, const json_t *given);
/* belief.read and memory.read: what the region read of shared belief and of typed memory, with its versions (I-77). In t, the transaction of its end and before
 * that; may be called again when t was taken back. Returns 0, -errno. */
int dispatch_reads_end(Dispatch *d, Txn *t);
/* Records what was only counted so far: further refusals of each code (request.refused), the summary of log messages (region.logged). Called once before
 * the region's end; also right after it was ended as `denied`. Returns 0, DISPATCH_E_STORE, -errno. */
int dispatch_finish(Dispatch *d, Diag *reterr);
