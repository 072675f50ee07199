/* Runs: CLI. `lethe mcp wrap`: a server of the Model Context Protocol that somebody else wrote, in a region, and a
 * process between client and server. Both sides are hostile: the server's tools are shown and called only as approved,
 * arguments and results have bounds and schemas, and each call is an event. */
#pragma once

#include "base/json.h"
#include "base/line.h"
#include "store/store.h"

#include <pthread.h>

#define WRAP_LINE_MAX (16 * 1024 * 1024) /* bytes of a message */
#define WRAP_DEPTH_MAX 64
#define WRAP_ASKED_MAX 1024 /* requests of the client without an answer */
#define WRAP_TOOLS_MAX 512

typedef struct WrapOptions {
        const char *store;         /* path */
        const char *name;          /* of the server: the slot of approvals is mcp/NAME */
        char *const *tools, *const *hidden; /* names, ended by NULL; tools NULL: all but the hidden */
        bool soon;                 /* events become durable soon after the answers, not before */
        uint64_t arguments_max, result_max; /* bytes of JSON of a call */
        char *const *argv;         /* the command with the server in a region; argv[0] is the program's name */
} WrapOptions;

/* Runs the server until one side ends. Returns an exit code, after a message. */
int wrap_serve(const WrapOptions *o, int signals);

/* approved.c: the tools of a server, in slot mcp/NAME: {"tools": {name: digest}, "offered": {name: {"digest", "title"?,
 * "description"?}}}. "tools" are approved; "offered" were listed by the server since, and are not. A digest is the SHA-256 of
 * the canonical JSON of all that a tool's listing says. */
/* *ret: owned; NULL: no tool was approved yet. Returns 0, positive with a message, -errno. */
int approved_read(Store *s, const char *server, json_t **ret, Diag *reterr);
/* Replaces the value. who: "uid:1000". */
int approved_write(Store *s, const char *server, const char *who, const json_t *value, Diag *reterr);
/* "sha256:" and 64 digits into ret. Returns 0, -ENOMEM, -ERANGE for numbers without a canonical form. */
int approved_digest(const json_t *tool, char ret[static 80]);

/* wrap-filter.c: what passes. */
typedef struct WrapAsked {
        json_t *id;         /* owned */
        enum { WRAP_OTHER, WRAP_LIST, WRAP_CALL } kind;
        char *tool;         /* owned: of a call */
        char arguments[80]; /* digest */
        uint64_t bytes, usec; /* of the arguments; CLOCK_MONOTONIC */
        bool cancelled;
        struct WrapAsked *next;
} WrapAsked;

typedef struct Wrap {
        const WrapOptions *options;
        Store *store;
        LineReader client, server;
        LineQueue to_client, to_server;
        json_t *approved;   /* owned: as of approved_read(), or NULL: the first list is approved as it is */
        json_t *schemas;    /* name -> {"inputSchema", "outputSchema"?} of the approved tools, as listed last */
        WrapAsked *asked;
        size_t n_asked;
        json_t *events;     /* array of the fields of events that are not recorded yet */
        char region[27];    /* "": not known yet */
        char session[27];   /* of tools.opened; "": no call yet, or events are durable before the answers */
        uint64_t n_calls;   /* events of calls of the session */
        json_t *recording;  /* events in the hands of the recorder's thread, or NULL */
        pthread_t recorder;
        int recorded, recorded_fd; /* what the thread said: 0, -errno; an eventfd at its end, or -1 */
        pid_t child;
} Wrap;

/* A line of the client: passes, or is answered at once. Returns 0 or -errno. */
int wrap_from_client(Wrap *w, const char *line, size_t n);
/* A line of the server: passes, is changed, or is dropped. */
int wrap_from_server(Wrap *w, const char *line, size_t n);
/* All calls without an answer are recorded as lost. */
int wrap_lost(Wrap *w);
void wrap_asked_free(Wrap *w, WrapAsked *a);

/* wrap-record.c. Each returns 0 or -errno, after a message.
 * With "soon", a session of calls is opened in the ledger before its first call, and closed with the number of its calls:
 * whoever ends in between leaves an opened session, and the audit says so. */
int wrap_record_open(Wrap *w);
int wrap_record_close(Wrap *w);
/* Records all events, durable at the return. */
int wrap_record(Wrap *w);
/* Begins a commit in the recorder's thread, unless one is at work. The store is the thread's until wrap_record_wait(). */
int wrap_record_begin(Wrap *w);
int wrap_record_wait(Wrap *w);
