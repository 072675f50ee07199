/* Runs: CLI (`lethe doctor`). Each feature of the kernel that a region uses, tried; what it means when it is missing, and the fix. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "spawn/probe.h"

typedef enum ProbeLevel {
        PROBE_OK,
        PROBE_NOTE, /* worth knowing; nothing is weaker than promised */
        PROBE_WARN, /* something is weaker or slower, and records say so */
        PROBE_FAIL, /* tier namespaces cannot be had */
} ProbeLevel;

typedef struct ProbeFinding {
        const char *name; /* "namespace-user", "landlock" */
        ProbeLevel level;
        char value[256];
        const char *meaning, *fix; /* "" when there is nothing to say */
} ProbeFinding;

#define PROBE_FINDINGS_MAX 48
typedef struct ProbeReport {
        ProbeFinding rows[PROBE_FINDINGS_MAX];
        size_t n;
} ProbeReport;

void probe_add(ProbeReport *r, const char *name, ProbeLevel level, const char *meaning, const char *fix, const char *fmt, ...)
        _printf_(6, 7);
/* Ruleset, settings, worker. Makes short-lived processes. */
void probe_full(ProbeReport *r);
/* Runs a program that does nothing in a region of each tier; store_dir may be NULL (then nothing is cached). */
void probe_trial(ProbeReport *r, const char *store_dir, bool *ret_namespaces, bool *ret_landlock);
