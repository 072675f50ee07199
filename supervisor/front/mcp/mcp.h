/* Runs: CLI. `lethe mcp`: a server of the Model Context Protocol on standard input and output (A-40..A-44). A process
 * speaks both eras: revision 2026-07-28, where each request says its version, and the revisions up to 2025-11-25, which
 * begin with `initialize`. A skill is a tool, and a call of the tool is a run of a daemon: a region of its own. Other
 * tools are commands of `lethe` in processes of their own. The client's bytes are hostile. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/line.h"
#include "manifest/manifest.h"
#include "policy/mcp.h"
#include "store/store.h"

#include "schema/jsonschema.h"

#define MCP_LINE_MAX (1024 * 1024) /* bytes of a message of the client */
#define MCP_DEPTH_MAX 64
#define MCP_CALLS_MAX 64           /* calls at work; more are answered with an error */
#define MCP_TEXT_MAX (1024 * 1024) /* bytes of a command's output in an answer */

typedef struct McpOptions {
        const char *store;            /* path of the store */
        const char *anchor, *policy;  /* absolute, or NULL */
        const char *socket;           /* of the daemon to ask, or NULL; for commands alone */
        char *const *skills;          /* the tools that are skills, ended by NULL; NULL: each registered skill */
        unsigned groups;              /* 1 << McpGroup */
        /* A connection to a daemon for runs: a descriptor, or -1 with a message. */
        int (*connect)(void *userdata, Diag *reterr);
        void *userdata;
} McpOptions;

typedef struct McpBuiltin McpBuiltin;

typedef struct McpTool {
        char *name;
        json_t *shown;               /* the object in tools/list; owned */
        JsonSchema *input, *output;  /* owned; output NULL: the answer is text */
        const McpBuiltin *builtin;   /* NULL: a skill */
        char *skill;                 /* owned: the skill's name */
        char digest[80];             /* of the skill */
        McpAs as;                    /* rows that are no tool have names of their own kind */
        bool taken;                  /* while the rows are read */
        bool declared;               /* the name is of the manifest, not the skill's */
        bool content;                /* the answer is blocks of content */
        unsigned asks;               /* 1 << index in manifest_mcp_asks */
        char *uri, *type;            /* of a resource; owned */
        json_t *schema;              /* the skill's "input", or NULL; owned */
} McpTool;

typedef struct McpTools {
        McpTool *rows; /* by name: the groups first, then the skills */
        size_t n;
} McpTools;

typedef struct McpRequest {
        const json_t *id;     /* NULL: a notification */
        json_t *params;
        const json_t *token;  /* for progress, or NULL */
        unsigned can;         /* what the client has declared that it can be asked: 1 << index in manifest_mcp_asks */
        bool logs;            /* the client wants messages of level info */
        bool modern;          /* of revision 2026-07-28 */
} McpRequest;

typedef struct McpCall {
        json_t *id, *token; /* owned; token NULL: the client wants no progress */
        bool modern, cancelled, logs;
        unsigned can, lacks, rounds;   /* as of McpRequest; what a question needs; questions so far */
        json_t *arguments;             /* owned: of a skill that asks */
        json_t *answers, *state;       /* owned: for the next run of a skill that asks, or NULL */
        json_t *asked;                 /* owned: id of our request -> key of the question; NULL: nothing was asked */
        char *uri;                     /* owned: of a resource that is read, or NULL */
        const McpTool *tool;  /* lent until mcp_tools_read() */
        uint64_t run;         /* of the daemon's request; 0: a command */
        pid_t child;          /* of the command */
        int out, err;         /* pipes of the command; -1: ended */
        Buf out_text, err_text;
        bool out_cut;
        json_t *failed;       /* owned: the result of a failed run, while `lethe why` is asked for reasons */
        double progress;      /* told last */
        struct McpCall *next;
} McpCall;

typedef struct McpServer {
        const McpOptions *options;
        McpTools tools;
        LineReader in;
        bool in_over;
        LineQueue out;        /* to the client */
        int daemon;           /* -1: none yet */
        LineReader answers;
        LineQueue asks;       /* to the daemon */
        uint64_t next_run;
        McpCall *calls;
        size_t n_calls;
        bool legacy;          /* `initialize` came */
        unsigned can;         /* of the client, in the older revisions */
        bool logs;            /* logging/setLevel asked for level info or below */
        unsigned next_ask;
        uint8_t key[32];      /* seals states; random */
        char client[65];      /* as the client calls itself */
        int signo;
} McpServer;

/* Errors of methods, positive; the numbers are those of JSON-RPC and of MCP without the sign. */
enum {
        MCP_E_PARSE = 32700, MCP_E_REQUEST = 32600, MCP_E_METHOD = 32601, MCP_E_PARAMS = 32602, MCP_E_INTERNAL = 32603,
        MCP_E_VERSION = 32022, MCP_E_RESOURCE = 32002, MCP_E_CAPABILITY = 32021
};

/* Serves until the end of standard input and of all calls, a signal, or the loss of the client. Returns an exit code,
 * after a message. */
int mcp_serve(const McpOptions *o, int signals);

/* message.c: takes a line of the client. Returns 0 or -errno. */
int mcp_take(McpServer *m, const char *line, size_t n);
/* The line was longer than MCP_LINE_MAX. */
int mcp_take_too_long(McpServer *m);
/* Sends a result (stolen) or an error. Returns 0 or -errno. */
int mcp_answer(McpServer *m, const json_t *id, bool modern, json_t *result);
int mcp_error(McpServer *m, const json_t *id_or_null, int code, json_t *data_or_null, const Diag *d);
int mcp_notify(McpServer *m, const char *method, json_t *params);
int mcp_send_request(McpServer *m, const char *id, const char *method, const json_t *params);
/* Marks a result as good until the next question. Takes it, and gives it back. */
json_t *mcp_cached(json_t *o, bool modern);

/* tools.c: reads the skills of the store again. Returns 0, positive with a message, -errno. */
int mcp_tools_read(McpServer *m, Diag *reterr);
void mcp_tools_free(McpTools *t);
/* The tool of the name, as it is now; a skill that was registered anew is read again. NULL: none. */
const McpTool *mcp_tool(McpServer *m, const char *name);

/* builtin.c */
struct McpBuiltin {
        const char *name, *title, *about;
        McpGroup group;
        bool changes;               /* the tool changes what is kept */
        const char *input;          /* JSON Schema */
        const char *const *argv;    /* a pattern, ended by NULL; NULL: a run of the daemon */
};
extern const McpBuiltin mcp_builtins[];
extern const size_t mcp_n_builtins;
/* The arguments of a command for arguments that fit the tool's schema; *ret_input: for standard input, owned, or NULL.
 * Returns an array of owned texts ended by NULL, or NULL: out of memory. */
char **mcp_builtin_argv(const McpServer *m, const McpBuiltin *b, const json_t *arguments, char **ret_input);

/* call.c: begins a call. Returns 0, an error of a method, -errno; *ret: an answer at once, owned, or NULL. */
int mcp_call(McpServer *m, const McpRequest *q, const McpTool *tool, json_t *arguments, json_t **ret, Diag *reterr);
/* The client has answered all questions: the next run. */
int mcp_call_again(McpServer *m, McpCall *c);
/* No answer of the client can come any more: calls that wait for one end. */
void mcp_calls_unanswered(McpServer *m);
void mcp_cancel(McpServer *m, const json_t *id);
void mcp_cancel_all(McpServer *m);
/* An answer or a notification of the daemon. Returns 0 or -errno. */
int mcp_call_heard(McpServer *m, const json_t *message);
/* The daemon is gone: its calls end with an error. */
int mcp_call_lost(McpServer *m);
/* A pipe of a command is readable, or at its end. */
int mcp_call_read(McpServer *m, McpCall *c);
void mcp_calls_free(McpServer *m);

/* result.c: the result of a call: text for the model, and a value where the tool has one. Takes `structured`. Owned, or
 * NULL: out of memory. */
json_t *mcp_result(const char *text, size_t n, json_t *structured, bool failed, const char *region);
json_t *mcp_failed(const char *region, const char *fmt, ...) _printf_(2, 3);
/* The result of a run that ended with 0: of the skill's own result, else of its standard output. *ret_e: MCP_ASKED,
 * MCP_WAITS (no result yet), -errno. */
json_t *mcp_ran(McpServer *m, McpCall *c, const json_t *result, const char *region, int *ret_e);

/* command.c: starts `lethe` with the arguments; standard input is a file with `input` or empty. Returns 0 or -errno. */
int mcp_command(McpCall *c, char *const *argv, const char *input_or_null);
/* Waits for the end. Returns the exit code, or 128 + the signal. */
int mcp_command_end(McpCall *c);

/* content.c: a string without control characters and marks of writing direction. */
int mcp_add_shown(Buf *b, const json_t *v);
/* The answer of a skill in the protocol's shape: of a tool with content, a prompt, a resource (uri). value: of
 * content; text: of the others. Owned, or NULL with a message. */
json_t *mcp_content(const McpTool *t, const char *uri, const json_t *value, const char *text, size_t n, Diag *reterr);

/* ask.c */
enum { MCP_ASKED = 2, MCP_WAITS = 3 };
unsigned mcp_client_can(const json_t *capabilities);
/* The input of a run of a skill that asks: {"arguments", "client", "answers"?, "state"?}. */
json_t *mcp_ask_input(const McpCall *c, const json_t *arguments);
/* Answers and state that a request of revision 2026-07-28 brings; owned, or NULL. Returns 0, MCP_E_PARAMS, -errno. */
int mcp_ask_resume(McpServer *m, const McpRequest *q, const McpTool *t, const json_t *arguments, json_t **ret_answers,
                   json_t **ret_state, Diag *reterr);
/* Takes a skill's result: {"answer"} or {"ask", "state"?}. Returns 0: *ret is the answer, lent; MCP_ASKED: the result for
 * the client, owned; MCP_WAITS: the client was asked; 1 with a message; -errno. */
int mcp_ask(McpServer *m, McpCall *c, const json_t *value, json_t **ret, Diag *reterr);
json_t *mcp_ask_lacks(const McpCall *c);
/* An answer of the client to a request of ours. */
int mcp_ask_heard(McpServer *m, const json_t *message);

/* offer.c: skills that are prompts and resources. As methods. */
int mcp_prompts_list(McpServer *m, json_t **ret, Diag *reterr);
int mcp_prompts_get(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr);
int mcp_offered_resources(McpServer *m, json_t *list, Diag *reterr);
int mcp_templates_list(McpServer *m, json_t **ret, Diag *reterr);
int mcp_offered_read(McpServer *m, const McpRequest *q, const char *uri, json_t **ret, Diag *reterr);
int mcp_complete(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr);

/* skills.c: the skills of the client as resources (io.modelcontextprotocol/skills). As methods. */
int mcp_skills_list(McpServer *m, json_t **ret, Diag *reterr);
int mcp_skills_get(McpServer *m, const char *uri, json_t **ret, Diag *reterr);
int mcp_skills_resources(McpServer *m, json_t **ret, Diag *reterr);
int mcp_skills_read(McpServer *m, const char *uri, json_t **ret, Diag *reterr);
/* Whether the client may have the skill. */
bool mcp_may_have(const McpServer *m, const char *skill);
