/* Runs: skill. liblethe-skill: a skill's side of the pipe (schema/protocol.md), in C. Needs a C library and nothing else.
 *
 *         Lethe *l;
 *         const char *value;
 *         if (lethe_open(&l) == LETHE_OK && lethe_slot_read(l, "facts", &value, NULL) == LETHE_OK)
 *                 lethe_slot_write(l, "summary", "{\"n\":3}", -1, NULL);
 *
 * Values are JSON text both ways, NUL-terminated UTF-8. All calls may be made from several threads, and by several processes of one
 * region at the same time: a request and its answer are kept together by a mutex and by a record lock on the pipe. What a call lends
 * (`ret_value`, lethe_code(), lethe_message()) belongs to the Lethe and stays until its next call: threads that look at it use a Lethe
 * each. After fork() the child goes on with the same Lethe. Memory is one buffer each way, which grows to the longest line. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Lethe Lethe;

enum {
        LETHE_OK = 0,
        LETHE_REFUSED,      /* answered with an error; lethe_code() is its data.code */
        LETHE_NO_PIPE,      /* LETHE_IN, LETHE_OUT are not set or name no open pipe, or the pipe was closed: "no_pipe" */
        LETHE_BAD_ARGUMENT, /* not sent at all: a value is not JSON ("parse"), text is not UTF-8 ("bad_utf8"), too long ("line_too_long") */
        LETHE_PROTOCOL,     /* an answer that this library does not understand: "protocol" */
        LETHE_MEMORY,       /* "memory" */
};

/* Takes the pipe from the environment; nothing is sent yet. *ret is set for every outcome but LETHE_MEMORY, so that lethe_message() can
 * say what is wrong; such a Lethe answers LETHE_NO_PIPE to everything. */
int lethe_open(Lethe **ret);
void lethe_close(Lethe *l);

/* The last call's error: a word of the protocol's error table or of the list above ("" after success), and a sentence. */
const char *lethe_code(const Lethe *l);
const char *lethe_message(const Lethe *l);

/* The answer to hello: region, limits, reads, writes, sections, and the region's key, which is not to be printed or stored. Said by itself
 * before the first call when the program does not. */
int lethe_hello(Lethe *l, const char **ret_answer);
/* The slot's value as it was when the region began, or as this region wrote it since. ret_version may be NULL. */
int lethe_slot_read(Lethe *l, const char *name, const char **ret_value, uint64_t *ret_version);
/* A proposal; recorded and durable when this returns LETHE_OK, and visible to others when the region has ended well. expect: the version
 * that the slot must have, 0 for none yet, -1 for any. ret_version (may be NULL): the version that this value gets. */
int lethe_slot_write(Lethe *l, const char *name, const char *value, int64_t expect, uint64_t *ret_version);
/* The same with a confidence, 0 to 1, for slots that are decided by it; negative: none. */
int lethe_slot_propose(Lethe *l, const char *name, const char *value, int64_t expect, double confidence, uint64_t *ret_version);
/* An array of {"name","read","write","version"?}. */
int lethe_slot_list(Lethe *l, const char **ret_slots);

/* Sections: working state that the supervisor keeps for this region until its end. The key that a handle wants is presented by the
 * library. region: NULL, or the id of a region above this one whose key it may use. ret_handle is text that may be shown to anyone. */
#define LETHE_HANDLE_MAX 64
int lethe_handle_open(Lethe *l, const char *section, const char *region, char ret_handle[LETHE_HANDLE_MAX]);
int lethe_handle_read(Lethe *l, const char *handle, const char **ret_value, uint64_t *ret_version);
/* expect: the version that the section must have, 0 for no value yet, -1 for any. */
int lethe_handle_write(Lethe *l, const char *handle, const char *value, int64_t expect, uint64_t *ret_version);
int lethe_handle_close(Lethe *l, const char *handle);

/* A note of this region's own, up to 32 KiB of text; durable when this returns LETHE_OK. Nobody else sees it before it was promoted. role: "agent",
 * "tool_result", or NULL: "agent". ret_note (may be NULL): its number, from 1. */
int lethe_note_add(Lethe *l, const char *text, const char *role, uint64_t *ret_note);
/* Shared belief as it is now: {"rows":[{"bucket","id","state","version","payload"?…}…],"next"?}. Each may be NULL: bucket; id, of one row (with bucket and
 * nothing else); state; after, which is "next" of the answer before. limit: most rows, 0: 100. */
int lethe_canon_read(Lethe *l, const char *bucket, const char *id, const char *state, const char *after, unsigned limit, const char **ret_answer);

/* Typed memory (schema/memory.md) of the scopes and families that the manifest asks for. kind: "memory_substrate", "knowledge_projections", "skill_artifacts".
 * scope NULL: the first that the manifest names. Answers are JSON text. */
typedef struct LetheSave {
        const char *kind;
        const char *payload; /* JSON */
        const char *id;      /* NULL: a new one */
        const char *type;    /* of memory_substrate: "episodic", "semantic", "observational"; else NULL */
        const char *refs;    /* JSON array, or NULL: none */
        int64_t expect;      /* the version that the record must have, 0: it must not be there; -1: any */
        const char *scope;
} LetheSave;
/* {"id","kind","scope","version","created","held"}; seen by this region at once, by others from its end on, or never when it breaks a budget. */
int lethe_memory_save(Lethe *l, const LetheSave *s, const char **ret_answer);
/* {"record":{…}} */
int lethe_memory_load(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer);
/* {"records":[…],"next"?}. filter and after may be NULL; limit 0: 100. */
int lethe_memory_list(Lethe *l, const char *filter, const char *after, unsigned limit, const char *scope, const char **ret_answer);
/* {"records":[…],"cut"?}. limit 0: 20. */
int lethe_memory_search(Lethe *l, const char *query, unsigned limit, const char *scope, const char **ret_answer);
/* {"changes":[…],"next"?}. after: 0, or "next" of the answer before. */
int lethe_memory_history(Lethe *l, const char *kind, const char *id, uint64_t after, unsigned limit, const char *scope, const char **ret_answer);
/* {"deleted":[…],"held","scope"}; from the region's end on, for ever. reason may be NULL. */
int lethe_memory_delete(Lethe *l, const char *kind, const char *id, const char *reason, const char *scope, const char **ret_answer);

/* level: "debug", "info", "warning", "error". */
int lethe_log(Lethe *l, const char *level, const char *message);
/* total: negative when it is not known. message may be NULL. */
int lethe_progress(Lethe *l, double done, double total, const char *message);
/* Runs a sub-skill in a region of its own and waits for its end. entry NULL: main; args NULL-terminated or NULL; input (may be NULL): its standard
 * input. The answer is an object: region, outcome, exit_code, signal, output (its standard output), output_cut, and result when it gave one. */
int lethe_skill_run(Lethe *l, const char *skill, const char *entry, const char *const *args, const char *input, const char **ret_answer);
/* The invocation's result, once; it appears in the receipt. */
int lethe_result(Lethe *l, const char *value);

/* JSON helpers. Both write at most room bytes, NUL included, and return the length of the whole (as snprintf does), or -1.
 * Text to a JSON string with its quotes; -1: not UTF-8. */
ptrdiff_t lethe_json_quote(const char *text, size_t n, char *out, size_t room);
/* A JSON string to its text; -1: not a JSON string. The text may hold NUL bytes. */
ptrdiff_t lethe_json_unquote(const char *json, char *out, size_t room);

#ifdef __cplusplus
}
#endif
