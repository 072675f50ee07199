/* Runs: supervisor. Shared by the dispatch's files: the Dispatch, and the shape of a method's handler.
 *
 *        line -> line.c: frame (pure) -> permit table -> hello.c slot.c log.c run.c handle.c -> reply.c
 *                                                        note.c memory.c write-buffer.c reads.c carry.c ccs.c
 *                \-> refuse.c: counts and records refusals and traces of handles */
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
RpcKind rpc_kind(RpcCode code);

typedef enum DispatchState {
        DISPATCH_NEW,  /* before the first request */
        DISPATCH_OPEN, /* after the first hello */
        DISPATCH_DONE, /* after the result */
} DispatchState;

enum { LOG_DEBUG_, LOG_INFO_, LOG_WARNING_, LOG_ERROR_, LOG_LEVELS };

/* Reads, to be recorded with the region's end (reads.c). */
typedef struct DispatchReads {
        json_t *of;    /* scope -> kind -> id -> versions; owned, NULL: no reads */
        size_t n;
        uint64_t more; /* reads beyond the bound */
} DispatchReads;

struct Dispatch {
        Store *store;        /* borrowed */
        const Grant *grant;  /* borrowed */
        char region[REGION_ID_MAX];
        DispatchState state;
        json_t *copies;      /* slot name -> {"version","value"} or null, as at entry (I-20) */
        json_t *held;        /* slot name -> {"version","value"}: written by this region */
        json_t *result;      /* NULL before `result` */
        DispatchStartFn starter; /* may be NULL */
        void *starter_data;
        const json_t *id;    /* of the current request, NULL: a notification; borrowed */
        uint64_t proposals;  /* slot.write requests to the store */
        uint64_t notes, note_requests;      /* added; requested */
        uint64_t belief_reads, belief_rows; /* canon.read requests to the store; rows answered */
        uint64_t memory_writes;             /* memory.save and memory.delete requests to the store */
        struct HeldMemory *memory;          /* n_memory of them, in order of request; memory_bytes in all */
        size_t n_memory, memory_bytes;
        uint64_t memory_again;              /* bytes of held writes replayed for answers */
        json_t *memory_end;                 /* see dispatch_memory_ended() */
        DispatchReads belief, remembered;
        uint64_t own_reads;                 /* note.list and pending.list requests to the store */
        struct NoteSpan *noted;             /* n_noted of them: the notes of other regions that were read */
        size_t n_noted;
        uint64_t noted_more;                /* reads beyond the bound */
        uint64_t memory_reads, memory_records; /* requests of memory reads to the store; records answered */
        const DispatchTurn *turn; /* borrowed; NULL: no turn of a session */
        json_t *carries, *carried; /* held carry.write: name -> {"value","version"}; those that count in the end */
        uint64_t carry_writes;    /* requests */
        json_t *tools;            /* of ccs.tool, held until the end; NULL: none */
        size_t tools_bytes;
        bool discards;       /* no proposal of the region will be kept, and each answer says so */
        bool recorded; /* the engine has recorded the current refusal (slot.refused, mutation.refused) */
        uint64_t violations;
        uint64_t refused[RPC_CODES];
        uint64_t logs[LOG_LEVELS], log_bytes, log_dropped;
        void (*progress)(void *userdata, const json_t *params); /* NULL: progress is for the operator alone */
        void *progress_data;
        Vault *vault;        /* borrowed; NULL: no sections */
        json_t *traces;      /* array: of handles, not yet written */
        uint64_t n_traces, traces_dropped;
};

/* A method. params: an object, may be empty. *ret_result: the answer, a new reference. Returns 0, RpcCode with a
 * message, -errno. RPC_E_INTERNAL: the store cannot record. DISPATCH_LATER: the owner of the regions answers later. */
#define DISPATCH_LATER (RPC_CODES + 1)
typedef int (*DispatchHandler)(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr);
#define METHOD(name, id, in_new, in_open, in_done) \
        int dispatch_do_##id(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr);
#include "schema/methods.def"
#undef METHOD

/* The message for parameters refused by json_take(); returns RPC_E_INVALID_PARAMS. */
int dispatch_bad_params(const json_t *params, const char *expected, Diag *reterr);
/* Reads a parameter `limit` and `expect`; said NULL: standard, and *ret as it was. Returns 0, RPC_E_INVALID_PARAMS. */
int dispatch_take_limit(const json_t *said, size_t standard, size_t most, size_t *ret, Diag *reterr);
int dispatch_take_version(const json_t *said, json_int_t *ret, Diag *reterr);
/* Does a list of the grant, NULL or NULL-terminated, have the name of n bytes? */
bool dispatch_is_listed(char **list, const char *name, size_t n);
/* The answer of a method. Takes o. Returns 0, -ENOMEM when o is NULL. */
int dispatch_answer(json_t *o, json_t **ret_result);

/* The answer to a held proposal; when proposals are discarded, with "discarded". Takes o. Returns 0 or -ENOMEM. */
int dispatch_answer_held(const Dispatch *d, json_t *o, json_t **ret_result);

/* The pipe's code of an engine's refusal; RPC_E_INTERNAL: a code outside of the requests of a living region. */
RpcCode rpc_of_engine(EngineCode code);

/* Counts a refused line and records the first of each code at once; dispatch_finish() records the rest, because a flood
 * of bad lines must cause no flood of fsyncs. Returns 0, DISPATCH_E_END, DISPATCH_E_STORE, -errno. */
int dispatch_refuse(Dispatch *d, RpcCode code, const char *method_or_null, size_t n_line, Diag *reterr);
/* Adds an event of this region to *t, which begins with the first event. Returns 0, DISPATCH_E_STORE, -errno. */
int dispatch_record_in(Dispatch *d, Txn **t, const char *type, const json_t *fields, Diag *reterr);
/* Records one event of this region in a transaction of its own. Returns 0, DISPATCH_E_STORE, -errno. */
int dispatch_record(Dispatch *d, const char *type, const json_t *fields, Diag *reterr);
/* The counts of log messages, for the event region.logged; *ret is NULL without messages. Returns 0 or -ENOMEM. */
int dispatch_log_summary(const Dispatch *d, json_t **ret);

/* A save or a deletion of a region. The texts are borrowed from params, the scope from the grant. */
typedef struct HeldMemory {
        json_t *params;          /* owned */
        bool deletes;
        const char *scope, *id, *type, *reason;
        Kind kind;
        const json_t *payload, *refs;
        uint64_t expect;         /* see Mutation */
        char made[RECORD_ID_MAX]; /* the id of a new record whose request named no id */
        size_t bytes;
        uint64_t version; /* in the last replay; 0: a deletion, or refused after a later write */
} HeldMemory;
/* Judges a save or a deletion on top of the held ones, in an aborted transaction, and holds the new write; takes
 * params. *ret: the mutation's result; unset of a deletion. Returns 0, RpcCode with a message, -errno. */
int dispatch_memory_hold(Dispatch *d, HeldMemory *h, Mutated *ret, Diag *reterr);
/* A transaction with all held writes applied, for reads; the caller aborts. Returns 0, RpcCode with a message. */
int dispatch_memory_look(Dispatch *d, Txn **ret, Diag *reterr);
/* Did the region write this version of the record, by the last replay? kind by its name. */
bool dispatch_memory_is_held(const Dispatch *d, const char *scope, const char *kind, const char *id, uint64_t version);

/* Notes a read of one version of a record. Returns 0 or -ENOMEM. */
int dispatch_read(Dispatch *d, DispatchReads *r, const char *scope, const char *kind, const char *id, uint64_t version);
/* Notes each row of an answer, by its `kind` or `bucket`, `id`, `version`; kind and id: for rows without the member. */
int dispatch_read_rows(Dispatch *d, DispatchReads *r, const char *scope, const char *kind, const char *id,
                       const json_t *rows);
/* An event of reads in t; more events when one is too small for the list. summary: the fields of the first; taken.
 * Returns 0, -errno. */
int dispatch_reads_put(Dispatch *d, Txn *t, const char *type, json_t *summary, const DispatchReads *reads);
void dispatch_reads_deinit(DispatchReads *r);

/* The run of the region's notes: of the session for a turn, of the grant when the operator named one, else the region's
 * own (G-75). */
const char *dispatch_run(const Dispatch *d);
/* Notes a read of a note of the run. by: the region that added the note; NULL: unknown. Returns 0 or -ENOMEM. */
int dispatch_note_read(Dispatch *d, uint64_t number, const char *by);
/* note.read: the reads of notes, when there were any. In the transaction of the region's end. Returns 0, -errno. */
int dispatch_note_reads_put(Dispatch *d, Txn *t);

/* Refuses a value that holds the key of a region (I-11). Returns 0, RPC_E_KEY_ESCAPE, -ENOMEM. */
int dispatch_key_escape(const json_t *value, Diag *reterr);

/* The VaultTrace of a dispatch: one event of a handle, recorded when the grant's lineage detail is `handles` (I-37). */
void dispatch_trace(void *dispatch, const HandleTrace *t);
/* Writes the waiting traces when they are many, or when `all` is set. Returns 0 or DISPATCH_E_STORE. */
int dispatch_trace_flush(Dispatch *d, bool all, Diag *reterr);

/* Answers, newline included. id NULL: the JSON null of JSON-RPC for an unknown id. Returns 0, -ENOMEM. */
int reply_result(Buf *reply, const json_t *id, json_t *result);
int reply_error(Buf *reply, const json_t *id, RpcCode code, const char *message);
