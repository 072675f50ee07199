/* Runs: CLI, supervisor. Everything that the options of `lethe run` can ask of the policy. cmd-run.c fills it option by option:
 * request_option() knows the names, units and rules, so that the command line and its errors are in one place. */
#pragma once

#include "base/diag.h"
#include "base/trace.h"
#include "base/util.h"
#include "manifest/vocabulary.h"
#include "policy/program.h"

enum {
        REQUEST_E_BAD = 1,   /* usage: message has the option, the value and the rule */
        REQUEST_E_SOURCE,    /* the source of a mount does not exist */
        REQUEST_E_NOT_FOUND, /* --exec: no such program; exit code 127 */
        REQUEST_E_NOT_EXECUTABLE, /* --exec: not executable or not a regular file; exit code 126 */
};

typedef struct RunRequest {
        /* Set directly by the caller. */
        char **args;         /* after SKILL or PROGRAM, NULL-terminated, borrowed; may be NULL */
        const char *store_dir; /* borrowed: where copies of what runs are, and digests that are known; NULL: nothing runs, it is only shown */
        Trace trace;         /* the invocation's own span; not set: nobody traces */
        uid_t client;        /* the user of another uid for whom it is asked; 0: the supervisor's own, or root */
        /* Set through the functions below. */
        char *exec;          /* --exec as written; NULL when a skill runs */
        Program program;     /* what it is (policy/program.h) */
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
        char *name;          /* --name */
        Tier tier;           /* --tier: exactly this one; 0: the best that the machine has */
        bool proc;           /* --proc */
        bool discipline_said; /* --discipline, with passes as in Grant */
        Discipline discipline;
        unsigned passes;
} RunRequest;

/* One option by its long name without dashes: memory timeout cpu-time pids-limit nofile file-size scratch output-limit volume env workdir
 * network connect entry tier proc discipline name. value is NULL for proc. -v: the source is looked up and resolved now.
 * Returns 0, REQUEST_E_*, -errno. An option that is not policy's is REQUEST_E_BAD. */
int request_option(RunRequest *r, const char *option, const char *value, Diag *reterr);
/* An option that names no file, no address and no variable, and can only choose among what the skill has or make it less. */
bool request_option_is_plain(const char *option);
/* --exec PROGRAM: with a slash a path, else searched in the PATH that the region has. Finds it behind the volumes and the working folder that were asked for
 * before, digests it, and finds its copy where there is one. */
int request_exec(RunRequest *r, const char *program, Diag *reterr);
/* A copy of the program is to be bound, and there is none in the store yet. */
bool request_exec_lacks_copy(const RunRequest *r);
/* Makes it; there is a store. Its digest is then of the bytes that were copied. */
int request_exec_copy(RunRequest *r, Diag *reterr);
void request_deinit(RunRequest *r);
#define _cleanup_request_ _cleanup_(request_deinit)
