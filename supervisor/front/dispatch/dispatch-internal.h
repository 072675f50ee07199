/* Runs: supervisor. What the dispatch's files share: the Dispatch, the frame, and the shape of a method's handler.
 *
 *         line -> frame.c (pure) -> permit table -> hello.c slot.c log.c result.c -> reply.c
 *                                                             handle.c run.c note.c memory.c write-buffer.c
 *                                   \-> refuse.c: what was refused is counted and recorded; lineage.c: traces of handles
 */
#pragma once

#include "base/id.h"
#include "base/json-form.h"
#include "dispatch/dispatch.h"
#include "engine/engine.h"
#include "engine/mutate.h"
#include "region/region-section.h"
#include "schema/limits.h"

typedef enum RpcCode {
        RPC_OK = 0,
#define ERROR(id, word, number, kind) RPC_E_##id,
#include "schema/errors.def"
#undef ERROR
        RPC_CODES,
} RpcCode;

typedef enum RpcKind { RPC_VIOLATION, RPC_REFUSAL, RPC_ANSWER } RpcKind;

const char *rpc_word(RpcCode code);
int rpc_number(RpcCode code);
RpcKind rpc_kind(RpcCode code);

typedef enum DispatchState {
        DISPATCH_NEW,  /* nothing said yet */
        DISPATCH_OPEN, /* after the first hello */
        DISPATCH_DONE, /* after the result */
} DispatchState;

enum { LOG_DEBUG_, LOG_INFO_, LOG_WARNING_, LOG_ERROR_, LOG_LEVELS };

/* Reads, to be recorded with the region's end (reads.c). */
typedef struct DispatchReads {
        json_t *of;    /* scope -> kind -> id -> versions; owned, NULL: nothing */
        size_t n;
        uint64_t more; /* what had no room */
} DispatchReads;

struct Dispatch {
        Store *store;        /* borrowed */
        const Grant *grant;  /* borrowed */
        char region[REGION_ID_MAX];
        DispatchState state;
        json_t *copies;      /* slot name -> {"version","value"} or null, as at entry (I-20) */
        json_t *held;        /* slot name -> {"version","value"}: what this region wrote */
        json_t *result;      /* NULL before `result` */
        DispatchStartFn starter; /* may be NULL */
        void *starter_data;
        const json_t *id;    /* of the request at hand, NULL: a notification; borrowed */
        uint64_t proposals;  /* slot.write requests that reached the store */
        uint64_t notes, note_requests;      /* added; asked for */
        uint64_t belief_reads, belief_rows; /* canon.read requests that reached the store, and what they were answered */
        uint64_t memory_writes;             /* memory.save and memory.delete requests that reached the store */
        struct HeldMemory *memory;          /* n_memory of them, in their order; memory_bytes in all */
        size_t n_memory, memory_bytes;
        uint64_t memory_again;              /* bytes of them that were done again for answers */
        json_t *memory_end;                 /* as dispatch_memory_ended() has it */
        DispatchReads belief, remembered;
        uint64_t memory_reads, memory_records; /* other memory.* requests that did, and the records that they were answered */
        bool discards;       /* nothing of what it proposes will be kept, and each answer says so */
        bool recorded;       /* the engine has recorded the refusal that is being answered (slot.refused, mutation.refused) */
        uint64_t violations;
        uint64_t refused[RPC_CODES];
        uint64_t logs[LOG_LEVELS], log_bytes, log_dropped;
        Vault *vault;        /* borrowed; NULL: no sections */
        json_t *traces;      /* array: of handles, not yet written */
        uint64_t n_traces, traces_dropped;
};

/* One request as it stands in its line. */
typedef struct Frame {
        json_t *whole;        /* owned; the rest is borrowed from it */
        const json_t *id;     /* NULL: a notification, or not known because the frame is broken */
        const char *method;
        const json_t *params; /* an object, or NULL when there is none */
} Frame;
void frame_deinit(Frame *f);
/* Reads one line strictly (JSON-RPC 2.0). Pure. Returns 0, RpcCode with a message (ret->id is then set when it was still readable), -ENOMEM. */
int frame_read(const char *line, size_t n, Frame *ret, Diag *reterr);

/* A method. params is an object (empty when the request had none). *ret_result: what is answered, new reference.
 * Returns 0, RpcCode with a message, -errno. RPC_E_INTERNAL: the store cannot record. DISPATCH_LATER: it is answered by another than us. */
#define DISPATCH_LATER (RPC_CODES + 1)
typedef int (*DispatchHandler)(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr);
#define METHOD(name, id, in_new, in_open, in_done) int dispatch_do_##id(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr);
#include "schema/methods.def"
#undef METHOD

/* What a region reads of a slot: {"version","value"}, borrowed. Returns 0, RpcCode with a message. */
int dispatch_slot_value(Dispatch *d, const char *name, size_t n, json_t **ret, Diag *reterr);

/* A slot.read as the shims write it. */
typedef struct QuickRead {
        const char *id; /* in the line: a number in its shortest form */
        size_t n_id, n_name;
        char name[SLOT_NAME_MAX + 1];
} QuickRead;
/* Is the line such a one? Its name need not be one of a slot. Pure. */
bool quick_read(const char *line, size_t n, QuickRead *ret);
/* Answers the line if it is one, and granted. The permit table was asked. Returns 1, 0: not answered, -ENOMEM. */
int dispatch_answer_quickly(Dispatch *d, const char *line, size_t n, Buf *out);

/* The message for parameters that json_take() refused; returns RPC_E_INVALID_PARAMS. */
int dispatch_bad_params(const json_t *params, const char *expected, Diag *reterr);

/* The answer to what is held until the region's end; of a region of which nothing is kept it says "discarded". Takes o. Returns 0 or -ENOMEM. */
int dispatch_answer_held(const Dispatch *d, json_t *o, json_t **ret_result);

/* What a refusal of the engine is at the pipe; RPC_E_INTERNAL: nothing that the request of a living region can meet. */
RpcCode rpc_of_engine(EngineCode code);

/* Counts a refused line, and records the first of each code at once; the rest waits for dispatch_finish(), so that a flood of bad lines is
 * not a flood of fsyncs. Returns 0, DISPATCH_E_END, DISPATCH_E_STORE, -errno. */
int dispatch_refuse(Dispatch *d, RpcCode code, const char *method_or_null, size_t n_line, Diag *reterr);
/* Records one event of this region in a transaction of its own. Returns 0, DISPATCH_E_STORE, -errno. */
int dispatch_record(Dispatch *d, const char *type, const json_t *fields, Diag *reterr);
/* What was logged, for the event region.logged; *ret is NULL when nothing was. Returns 0 or -ENOMEM. */
int dispatch_log_summary(const Dispatch *d, json_t **ret);

/* What was read of shared belief, for the event belief.read; *ret is NULL when nothing was. Returns 0 or -ENOMEM. */
int dispatch_belief_summary(const Dispatch *d, json_t **ret);

/* A save or a deletion that a region asks for. Its texts are of params, its scope of the grant. */
typedef struct HeldMemory {
        json_t *params;          /* owned */
        bool deletes;
        const char *scope, *id, *type, *reason;
        Kind kind;
        const json_t *payload, *refs;
        uint64_t expect;         /* as Mutation has it */
        char made[RECORD_ID_MAX]; /* the id of one that is new and named none */
        size_t bytes;
        uint64_t version;        /* that the last look came to; 0: none, what others did stands against it; of a deletion always */
} HeldMemory;
/* Judges it on top of what is held, in a transaction that is taken back, and holds it too; takes its params. *ret: what the mutation came to; of a deletion
 * nothing. Returns 0, RpcCode with a message, -errno. */
int dispatch_memory_hold(Dispatch *d, HeldMemory *h, Mutated *ret, Diag *reterr);
/* A transaction to read memory in as this region would leave it if it ended now; to be aborted. Returns 0, RpcCode with a message. */
int dispatch_memory_look(Dispatch *d, Txn **ret, Diag *reterr);
/* Is this version of the record one that the region saved itself, by what the last look at memory came to? kind by its name. */
bool dispatch_memory_is_held(const Dispatch *d, const char *scope, const char *kind, const char *id, uint64_t version);
void dispatch_memory_free(Dispatch *d);

/* A version of a record was read. Returns 0 or -ENOMEM. */
int dispatch_read_of(Dispatch *d, DispatchReads *r, const char *scope, const char *kind, const char *id, uint64_t version);
/* Each row of an answer, by its `kind` or `bucket`, `id` and `version`; kind and id where a row does not say them. */
int dispatch_read_rows(Dispatch *d, DispatchReads *r, const char *scope, const char *kind, const char *id, const json_t *rows);
void dispatch_reads_deinit(DispatchReads *r);

/* What was read of typed memory, for the event memory.read; the same. */
int dispatch_memory_summary(const Dispatch *d, json_t **ret);

/* Refuses a value that holds the key of a region (I-11). Returns 0, RPC_E_KEY_ESCAPE, -ENOMEM. */
int dispatch_key_escape(const json_t *value, Diag *reterr);

/* The VaultTrace of a dispatch: one thing that occurred with a handle, recorded when the grant's lineage detail is `handles` (I-37). */
void dispatch_trace(void *dispatch, const HandleTrace *t);
/* Writes the traces that are waiting, when they are many or `all` are to be written. Returns 0 or DISPATCH_E_STORE. */
int dispatch_trace_flush(Dispatch *d, bool all, Diag *reterr);

/* Answers, newline included. id NULL stands for the JSON null that JSON-RPC wants when the request's id is not known. 0, -ENOMEM. */
int reply_with_id(Buf *reply, const char *id, size_t n_id, const json_t *result); /* id: its canonical text */
int reply_result(Buf *reply, const json_t *id, json_t *result);
int reply_error(Buf *reply, const json_t *id, RpcCode code, const char *message);
