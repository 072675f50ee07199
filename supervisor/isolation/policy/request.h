/* Runs: CLI, supervisor. The policy options of `lethe run`. cmd-run.c fills the request option by option:
 * request_option() knows the names, units and rules, so that the command line and its errors are in one place. */
#pragma once

#include "base/trace.h"
#include "manifest/net-name.h"
#include "manifest/net-publish.h"
#include "policy/program.h"

typedef struct RunRequest {
        /* Set directly by the caller. */
        char **args;         /* after SKILL or PROGRAM, NULL-terminated, borrowed; may be NULL */
        const char *store_dir; /* borrowed: the store with the copies and the known digests; NULL: a dry run */
        const char *caller_dir; /* borrowed: the caller's working folder, absolute; NULL: not known, or another user's */
        Trace trace;         /* the invocation's own span; not set: no trace */
        uid_t client;        /* the other user for whom the invocation runs; 0: the supervisor's own, or root */
        /* Set through the functions below. */
        char *exec;          /* --exec as written; NULL when a skill runs */
        Program program;     /* the program of --exec (policy/program.h) */
        Budget budget;       /* 0: not given */
        FileGrant *mounts;   /* -v */
        size_t n_mounts;
        char **env;          /* -e NAME=VALUE */
        char *workdir;       /* -w, else of --here */
        bool workdir_said;   /* -w */
        bool here;           /* --here */
        bool network_said;   /* --network none|private|host, --connect */
        NetworkMode network;
        NetGrant *connects;
        size_t n_connects;
        NetName *allows;     /* --allow */
        size_t n_allows;
        NetPublish publishes[PROXY_PUBLISH_MAX]; /* -p, --publish */
        size_t n_publishes;
        char **routes;       /* --route, NULL-terminated; NULL: none */
        char *entry;         /* --entry */
        char *inside;        /* --exec behind SKILL: the program in place of the skill's entry */
        char *name;          /* --name */
        Tier tier;           /* --tier: exactly this tier; 0: the machine's best tier */
        bool proc;           /* --proc */
        bool terminal;       /* -t, --tty */
        bool terminals;      /* --terminals */
        bool grace_said;     /* --grace; 0: none */
        uint64_t grace_usec;
        bool discipline_said; /* --discipline, with passes as in Grant */
        Discipline discipline;
        unsigned passes;
} RunRequest;

/* Sets an option by its long name without dashes: memory timeout cpu-time pids-limit nofile file-size scratch
 * output-limit volume env workdir here (MODE:FOLDER) grace network connect allow publish route entry exec tier discipline name, and
 * the flags, with value NULL. exec: beside a skill. -v: the source is looked up and resolved now. Returns 0,
 * REQUEST_E_*, -errno. An unknown option is REQUEST_E_BAD. */
int request_option(RunRequest *r, const char *option, const char *value, Diag *reterr);
/* Whether the option names no file, address or variable, and can only choose from the skill's own or reduce a right. */
bool request_option_is_plain(const char *option);
/* Whether the option has no value: proc terminals tty. */
bool request_option_is_flag(const char *option);
/* --exec PROGRAM: with a slash a path, else searched in the PATH of the region. Finds the program in the volumes and
 * the working folder given before, computes the digest, and finds an existing copy. */
int request_exec(RunRequest *r, const char *program, Diag *reterr);
/* Whether the program needs a copy that the store lacks. */
bool request_exec_lacks_copy(const RunRequest *r);
/* Makes the program's copy; needs a store. The digest is then of the copied bytes. */
int request_exec_copy(RunRequest *r, Diag *reterr);
void request_deinit(RunRequest *r);
#define _cleanup_request_ _cleanup_(request_deinit)
