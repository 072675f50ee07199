/* Runs: supervisor, CLI. For cognition.c: the JSON of a turn, a decision and a store, read and checked. Pure. */
#pragma once

#include "cognition/cognition.h"
#include "cognition/compress.h"
#include "cognition/qualify.h"

#define OBSERVED_LABEL_MAX 33

typedef struct ObservedText {
        const char *text; /* borrowed from the input */
        size_t n;
        char label[OBSERVED_LABEL_MAX]; /* [a-z][a-z0-9_]* */
} ObservedText;

typedef struct Observed {
        ObservedText main;   /* "input" or "decision" */
        ObservedText list[COGNITION_TEXTS_MAX]; /* tools or documents; empty ones are left out */
        size_t n;
        CompressSource source; /* of the input */
        EvidenceSource of;     /* of the documents */
        uint64_t turn;         /* COGNITION_NEWEST: not said */
} Observed;

/* main: "input" or "decision", or NULL; list: "tools" or "documents". Returns 0, ENGINE_E_BAD_PAYLOAD,
 * ENGINE_E_TOO_LARGE with field, value and rule. */
int observe(const json_t *input, const char *main, const char *list, Observed *ret, Diag *reterr);
