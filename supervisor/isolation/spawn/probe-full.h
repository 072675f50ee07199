/* Runs: CLI (`lethe doctor`). Tries each kernel feature of a region; names the effect of a lack, and the fix. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "spawn/probe.h"

typedef enum ProbeLevel {
        PROBE_OK,
        PROBE_NOTE, /* worth knowing; no promise is weaker */
        PROBE_WARN, /* a promise is weaker or slower, and records say so */
        PROBE_FAIL, /* tier namespaces cannot be had */
} ProbeLevel;

typedef struct ProbeFinding {
        const char *name; /* "namespace-user", "landlock" */
        ProbeLevel level;
        char value[256];
        const char *meaning, *fix; /* "" when not needed */
} ProbeFinding;

#define PROBE_FINDINGS_MAX 64
typedef struct ProbeReport {
        ProbeFinding rows[PROBE_FINDINGS_MAX];
        size_t n;
} ProbeReport;

void probe_add(ProbeReport *r, const char *name, ProbeLevel level, const char *meaning, const char *fix,
               const char *fmt, ...) _printf_(6, 7);
/* Ruleset, settings, worker. Makes short-lived processes. */
void probe_full(ProbeReport *r);
/* Runs an empty program in a region of each tier; store_dir may be NULL (no cache). */
void probe_trial(ProbeReport *r, const char *store_dir, bool *ret_namespaces, bool *ret_landlock);
