/* Runs: CLI. `lethe mcp`: a server of the Model Context Protocol on standard input and output (A-40..A-44). A process
 * speaks both eras: revision 2026-07-28, where each request says its version, and the revisions up to 2025-11-25, which
 * begin with `initialize`. A skill is a tool, and a call of the tool is a run of a daemon: a region of its own. Other
 * tools are commands of `lethe` in processes of their own. The client's bytes are hostile. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/line.h"
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
        const McpBuiltin *builtin;   /* NULL: the tool is the skill of its name */
        char digest[80];             /* of the skill */
} McpTool;

typedef struct McpTools {
        McpTool *rows; /* by name: the groups first, then the skills */
        size_t n;
} McpTools;

typedef struct McpRequest {
        const json_t *id;     /* NULL: a notification */
        json_t *params;
        const json_t *token;  /* for progress, or NULL */
        bool modern;          /* of revision 2026-07-28 */
} McpRequest;

typedef struct McpCall {
        json_t *id, *token; /* owned; token NULL: the client wants no progress */
        bool modern, cancelled;
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
        char client[65];      /* as the client calls itself */
        int signo;
} McpServer;

/* Errors of methods, positive; the numbers are those of JSON-RPC and of MCP without the sign. */
enum {
        MCP_E_PARSE = 32700, MCP_E_REQUEST = 32600, MCP_E_METHOD = 32601, MCP_E_PARAMS = 32602, MCP_E_INTERNAL = 32603,
        MCP_E_VERSION = 32022, MCP_E_RESOURCE = 32002
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
void mcp_cancel(McpServer *m, const json_t *id);
void mcp_cancel_all(McpServer *m);
/* An answer or a notification of the daemon. Returns 0 or -errno. */
int mcp_call_heard(McpServer *m, const json_t *message);
/* The daemon is gone: its calls end with an error. */
int mcp_call_lost(McpServer *m);
/* A pipe of a command is readable, or at its end. */
int mcp_call_read(McpServer *m, McpCall *c);
void mcp_calls_free(McpServer *m);

/* command.c: starts `lethe` with the arguments; standard input is a file with `input` or empty. Returns 0 or -errno. */
int mcp_command(McpCall *c, char *const *argv, const char *input_or_null);
/* Waits for the end. Returns the exit code, or 128 + the signal. */
int mcp_command_end(McpCall *c);

/* skills.c: the skills of the client as resources (io.modelcontextprotocol/skills). As methods. */
int mcp_skills_list(McpServer *m, json_t **ret, Diag *reterr);
int mcp_skills_get(McpServer *m, const char *uri, json_t **ret, Diag *reterr);
int mcp_skills_resources(McpServer *m, json_t **ret, Diag *reterr);
int mcp_skills_read(McpServer *m, const char *uri, json_t **ret, Diag *reterr);
/* Whether the client may have the skill. */
bool mcp_may_have(const McpServer *m, const char *skill);
