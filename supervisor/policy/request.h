/* Runs: CLI, supervisor. Everything that the options of `lethe run` can ask of the policy. cmd-run.c fills it option by option:
 * request_option() knows the names, units and rules, so that the command line and its errors are in one place. */
#pragma once

#include "base/diag.h"
#include "base/trace.h"
#include "base/util.h"
#include "manifest/terms.h"

enum {
        REQUEST_E_BAD = 1,   /* usage: message has the option, the value and the rule */
        REQUEST_E_SOURCE,    /* the source of a mount does not exist */
        REQUEST_E_NOT_FOUND, /* --exec: no such program; exit code 127 */
        REQUEST_E_NOT_EXECUTABLE, /* --exec: not executable or not a regular file; exit code 126 */
};

typedef struct RunRequest {
        /* Set directly by the caller. */
        char **args;         /* after SKILL or PROGRAM, NULL-terminated, borrowed; may be NULL */
        const char *store_dir; /* borrowed: whose cache request_exec() may use; NULL: none */
        Trace trace;         /* the invocation's own span; not set: nobody traces */
        uid_t client;        /* the user of another uid for whom it is asked; 0: the supervisor's own, or root */
        /* Set through the functions below. */
        char *exec;          /* --exec as written; NULL when a skill runs */
        char *exec_path;     /* its path on the host, resolved */
        bool exec_bind;      /* it lies outside the system folders: bound at that same path */
        char *exec_digest;   /* "sha256:…" */
        Budget budget;       /* 0: not said */
        FileGrant *mounts;   /* -v */
        size_t n_mounts;
        char **env;          /* -e NAME=VALUE */
        char *workdir;       /* -w */
        bool network_said;   /* --network none|private|host, --connect */
        NetworkMode network;
        NetGrant *connects;
        size_t n_connects;
        char *entry;         /* --entry */
        Tier tier;           /* --tier: exactly this one; 0: the best that the machine has */
        bool proc;           /* --proc */
        bool discipline_said; /* --discipline, with passes as in Grant */
        Discipline discipline;
        unsigned passes;
} RunRequest;

/* One option by its long name without dashes: memory timeout cpu-time pids-limit nofile file-size scratch output-limit volume env workdir
 * network connect entry tier proc discipline. value is NULL for proc. -v: the source is looked up and resolved now.
 * Returns 0, REQUEST_E_*, -errno. An option that is not policy's is REQUEST_E_BAD. */
int request_option(RunRequest *r, const char *option, const char *value, Diag *reterr);
/* An option that names no file, no address and no variable, and can only choose among what the skill has or make it less. */
bool request_option_is_plain(const char *option);
/* --exec PROGRAM: with a slash a path, else searched in the PATH that the region has. Resolves and digests it. */
int request_exec(RunRequest *r, const char *program, Diag *reterr);
void request_deinit(RunRequest *r);
#define _cleanup_request_ _cleanup_(request_deinit)
