/* Runs: supervisor, CLI. Faults found in a file, each with the place, a message and the violated rule. */
#pragma once

#include "base/json.h"

typedef enum FindingLevel {
        FINDING_NOTE,   /* worth knowing */
        FINDING_STRICT, /* against the specification, but a run is possible: an error only for `lethe validate` */
        FINDING_ERROR,  /* the skill cannot be used */
} FindingLevel;

typedef struct Finding {
        FindingLevel level;
        char *file;    /* relative to the skill's folder */
        unsigned line; /* 1-based; 0: no line */
        char *pointer; /* JSON pointer into the file, or NULL */
        char *rule;    /* short name, e.g. "name-characters" */
        char *message; /* a sentence with the value */
} Finding;

typedef struct Findings {
        Finding *v;
        size_t n;
} Findings;

void findings_deinit(Findings *f);
#define _cleanup_findings_ _cleanup_(findings_deinit)
/* Returns 0 or -ENOMEM. Keeps at most 200. */
int finding_add(Findings *f, FindingLevel level, const char *file, unsigned line, const char *pointer_or_null,
                const char *rule, const char *fmt, ...) _printf_(7, 8);
const Finding *findings_worst(const Findings *f); /* the first of the highest level, or NULL */
size_t findings_count(const Findings *f, FindingLevel level);
/* "SKILL.md:3: message [rule]" or "lethe.json#/budgets/memory: message [rule]". Owned or NULL. */
char *finding_text(const Finding *f);
json_t *findings_to_json(const Findings *f);
