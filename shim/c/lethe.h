/* Runs: skill. liblethe-skill: a skill's side of the pipe (schema/protocol.md), in C. Needs only a C library.
 *
 *         Lethe *l;
 *         const char *value;
 *         if (lethe_open(&l) == LETHE_OK && lethe_slot_read(l, "facts", &value, NULL) == LETHE_OK)
 *                 lethe_slot_write(l, "summary", "{\"n\":3}", -1, NULL);
 *
 * Values are JSON text in both directions, NUL-terminated UTF-8. Threads and processes of a region may make calls at
 * the same time: a mutex and a record lock on the pipe keep a request and its answer together. Borrowed results
 * (`ret_value`, lethe_code(), lethe_message()) belong to the Lethe and last until its next call, so threads that read
 * results use a Lethe each. After fork() the child continues with the same Lethe. Memory: a buffer for each direction,
 * as long as the longest line. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Lethe Lethe;

enum {
        LETHE_OK = 0,
        LETHE_REFUSED,      /* the answer was an error; lethe_code() is the error's data.code */
        /* "no_pipe": LETHE_IN or LETHE_OUT is unset or names no open pipe, or the pipe was closed */
        LETHE_NO_PIPE,
        /* not sent: a value is not JSON ("parse"), a text is not UTF-8 ("bad_utf8") or too long ("line_too_long") */
        LETHE_BAD_ARGUMENT,
        LETHE_PROTOCOL,     /* "protocol": the library does not understand the answer */
        LETHE_MEMORY,       /* "memory" */
};

/* Takes the pipe from the environment; sends no request yet. *ret is set for every outcome but LETHE_MEMORY, so that
 * lethe_message() can state the error; such a Lethe answers LETHE_NO_PIPE to each call. */
int lethe_open(Lethe **ret);
void lethe_close(Lethe *l);

/* The last call's error: a word of the protocol's error table or of the list above ("" after success), and a
 * sentence. */
const char *lethe_code(const Lethe *l);
const char *lethe_message(const Lethe *l);

/* The answer to hello: region, limits, reads, writes, sections, and the region's key. The key must not be printed or
 * stored. The library sends hello before the first call when the program has not done so. */
int lethe_hello(Lethe *l, const char **ret_answer);
/* The slot's value as of the region's start, or as written by the region since. ret_version may be NULL. */
int lethe_slot_read(Lethe *l, const char *name, const char **ret_value, uint64_t *ret_version);
/* A proposal: durable when the call returns LETHE_OK, and visible to other regions after the region has ended well.
 * expect: the version that the slot must have, 0 for no value yet, -1 for any. ret_version (may be NULL): the
 * version that the value gets. */
int lethe_slot_write(Lethe *l, const char *name, const char *value, int64_t expect, uint64_t *ret_version);
/* A proposal with a confidence from 0 to 1, for slots that are decided by confidence; negative: no confidence. */
int lethe_slot_propose(Lethe *l, const char *name, const char *value, int64_t expect, double confidence,
                       uint64_t *ret_version);
/* An array of {"name","read","write","version"?}. */
int lethe_slot_list(Lethe *l, const char **ret_slots);

/* Sections: working state that the supervisor keeps for the region until the region's end. The library presents the
 * key that a handle needs. region: NULL, or the id of a region above whose key the caller may use. ret_handle is
 * text without secrets. */
#define LETHE_HANDLE_MAX 64
int lethe_handle_open(Lethe *l, const char *section, const char *region, char ret_handle[LETHE_HANDLE_MAX]);
int lethe_handle_read(Lethe *l, const char *handle, const char **ret_value, uint64_t *ret_version);
/* expect: the version that the section must have, 0 for no value yet, -1 for any. */
int lethe_handle_write(Lethe *l, const char *handle, const char *value, int64_t expect, uint64_t *ret_version);
int lethe_handle_close(Lethe *l, const char *handle);

/* Sections of the session, for a turn of `lethe session`. carry_read: the value as the turns before left it, or as this
 * turn wrote it. carry_write: held until the end, and there for the next turn when this turn ends with exit code 0.
 * expect: the version that the turn sees, 0 for no value yet, -1 for any. ret_version may be NULL. */
int lethe_carry_read(Lethe *l, const char *section, const char **ret_value, uint64_t *ret_version);
int lethe_carry_write(Lethe *l, const char *section, const char *value, int64_t expect, uint64_t *ret_version);

/* The cognitive loop of a session, for a turn whose manifest has "cognition". ccs_read: the state that was committed before
 * this program started, and the turn's input, as JSON strings (lethe_json_unquote()), and the turn's number; each may be
 * NULL. ccs_tool: an output of a tool, which is evidence of the next turn when this turn ends with exit code 0; name may be
 * NULL. ret_tools (may be NULL): how many outputs the turn has. */
int lethe_ccs_read(Lethe *l, const char **ret_ccs, const char **ret_input, uint64_t *ret_turn);
int lethe_ccs_tool(Lethe *l, const char *text, const char *name, uint64_t *ret_tools);

/* A note of the region, up to 32 KiB of text; durable when the call returns LETHE_OK. Other regions see the note
 * only after promotion. role: "agent", "tool_result", or NULL: "agent". ret_note (may be NULL): the note's number,
 * from 1. */
int lethe_note_add(Lethe *l, const char *text, const char *role, uint64_t *ret_note);
/* Shared belief as of now: {"rows":[{"bucket","id","state","version","payload"?…}…],"next"?}. Each argument may be
 * NULL: bucket; id, for a single row (with bucket and no further argument); state; after, "next" of the answer
 * before. limit: the most rows, 0: 100. */
int lethe_canon_read(Lethe *l, const char *bucket, const char *id, const char *state, const char *after, unsigned limit,
                     const char **ret_answer);
/* The same as of `at`, the number of an event or a time as a text; the rows' content may be "erased" since. */
int lethe_canon_read_past(Lethe *l, const char *bucket, const char *id, const char *state, const char *after,
                          unsigned limit, const char *at, const char **ret_answer);

/* Typed memory (schema/memory.md) of the scopes and families that the manifest asks for. kind: "memory_substrate",
 * "knowledge_projections", "skill_artifacts". scope NULL: the first scope of the manifest. Answers are JSON text. */
typedef struct LetheSave {
        const char *kind;
        const char *payload; /* JSON */
        const char *id;      /* NULL: a new record */
        const char *type;    /* of memory_substrate: "episodic", "semantic", "observational"; else NULL */
        const char *refs;    /* JSON array, or NULL: no references */
        int64_t expect;      /* the version that the record must have; 0: the record must not exist; -1: any */
        const char *scope;
} LetheSave;
/* {"id","kind","scope","version","created","held"}. The region sees the record at once, other regions from the
 * region's end on, or never when the region breaks a budget. */
int lethe_memory_save(Lethe *l, const LetheSave *s, const char **ret_answer);
/* {"record":{…}} */
int lethe_memory_load(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer);
/* The same of an earlier version (0: none named), or as of `at` (NULL: none): the number of an event, or a time. Code
 * "erased" when that content is erased. */
int lethe_memory_load_past(Lethe *l, const char *kind, const char *id, const char *scope, uint64_t version,
                           const char *at, const char **ret_answer);
/* {"records":[…],"next"?}. filter and after may be NULL; limit 0: 100. */
int lethe_memory_list(Lethe *l, const char *filter, const char *after, unsigned limit, const char *scope,
                      const char **ret_answer);
/* {"records":[…],"cut"?}. limit 0: 20. */
int lethe_memory_search(Lethe *l, const char *query, unsigned limit, const char *scope, const char **ret_answer);
/* {"changes":[…],"next"?}. after: 0, or "next" of the answer before. */
int lethe_memory_history(Lethe *l, const char *kind, const char *id, uint64_t after, unsigned limit, const char *scope,
                         const char **ret_answer);
/* {"deleted":[…],"held","scope"}; the deletion takes effect at the region's end and is final. reason may be NULL. */
int lethe_memory_delete(Lethe *l, const char *kind, const char *id, const char *reason, const char *scope,
                        const char **ret_answer);

/* Why the record is there, and what refers to what: {"view":{…}}, and {"outgoing":[…],"incoming":[…],"hidden","cut",…}. */
int lethe_memory_view(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer);
int lethe_memory_refs(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer);

/* Reads of an agent before it acts. Answers are JSON text. context_read: {"scope","kernels","core","belief","advisory",
 * "withheld","cut"}, as `lethe context --json` has them. ask may be NULL, and each member NULL or 0. */
typedef struct LetheContext {
        const char *scope, *query;
        unsigned lane, bytes; /* 0: 10 records of a lane; 32768 bytes */
        const char *at;       /* as of an event or a time, without a query; NULL: now */
} LetheContext;
int lethe_context_read(Lethe *l, const LetheContext *ask, const char **ret_answer);
/* {"kernel","scope","version","rules":[…],"next"?}. kernel: "agent" or "world"; section and after may be NULL; limit 0:
 * 100. */
int lethe_kernel_read(Lethe *l, const char *kernel, const char *section, const char *after, unsigned limit,
                      const char **ret_answer);
/* The notes of this region's own run and what became of them: {"run","notes":[…],"next"?}; and those of them that wait:
 * {"run","items":[…],"next"?}. after: 0, or "next" of the answer before. limit 0: 100 notes, 10 items. */
int lethe_note_list(Lethe *l, uint64_t after, unsigned limit, const char **ret_answer);
int lethe_pending_list(Lethe *l, uint64_t after, unsigned limit, const char **ret_answer);

/* level: "debug", "info", "warning", "error". */
int lethe_log(Lethe *l, const char *level, const char *message);
/* total: negative when unknown. message may be NULL. */
int lethe_progress(Lethe *l, double done, double total, const char *message);
/* Runs a sub-skill in a region of its own and waits for the sub-skill's end. entry NULL: main; args NULL-terminated
 * or NULL; input (may be NULL): standard input. The answer is an object: region, outcome, exit_code, signal, output
 * (standard output), output_cut, and result when the sub-skill gave a result. */
int lethe_skill_run(Lethe *l, const char *skill, const char *entry, const char *const *args, const char *input,
                    const char **ret_answer);
/* The invocation's result, at most once; the receipt shows the result. */
int lethe_result(Lethe *l, const char *value);

/* JSON helpers. Both write at most room bytes, NUL included, and return the full length (as snprintf does), or -1.
 * lethe_json_quote() makes a JSON string with its quotes from text; -1: the text is not UTF-8. */
ptrdiff_t lethe_json_quote(const char *text, size_t n, char *out, size_t room);
/* The text of a JSON string; -1: not a JSON string. The text may hold NUL bytes. */
ptrdiff_t lethe_json_unquote(const char *json, char *out, size_t room);

#ifdef __cplusplus
}
#endif
