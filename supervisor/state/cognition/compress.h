/* Runs: supervisor, CLI. The built-in compressor: the state before, the texts of the turn and the qualified artifacts
 * become the next state (C-26, C-27, C-40). Deterministic, without a model, a clock or a locale; one pass over the
 * texts. Pure.
 *
 * Authority (C-24): rules and goals are read in the input alone, and there only in the speaker's own words (not
 * in quotations, fences, reports of what a document says). Decision, tools and artifacts can offer values, as
 * possible(...) until the user accepts. */
#pragma once

#include "cognition/ccs.h"

/* In the order of rank: a constraint is changed or lifted by its own rank or a higher one. */
typedef enum CompressSource { COMPRESS_USER, COMPRESS_OPERATOR, COMPRESS_POLICY, COMPRESS_SOURCES } CompressSource;
const char *compress_source_name(CompressSource s);

typedef struct CompressText {
        const char *text;
        size_t n; /* bytes; beyond 64 KiB nothing is read */
} CompressText;

typedef struct CompressArtifact {
        const char *label, *id; /* words of the atom grammar */
        uint64_t version;
} CompressArtifact;

typedef struct CompressInput {
        const Ccs *previous;
        CompressText input; /* this turn's, of the source below */
        CompressSource source;
        CompressText decision; /* of the turn before; n 0: there is no text */
        const CompressText *tools;
        size_t n_tools;
        const CompressArtifact *artifacts; /* qualified, best first */
        size_t n_artifacts;
        CcsBound bound;
} CompressInput;

typedef enum CompressAct {
        COMPRESS_ADDED,
        COMPRESS_REPLACED, /* another atom took the place */
        COMPRESS_LIFTED,   /* removed by a source of enough rank */
        COMPRESS_REFUSED,  /* a change or lift by a source of too little rank */
        COMPRESS_EVICTED,  /* by a bound (C-33) */
        COMPRESS_ACTS,
} CompressAct;
const char *compress_act_name(CompressAct a);

#define COMPRESS_EVENTS_MAX 64
typedef struct CompressEvent {
        CompressAct act;
        CcsField field;
        char atom[CCS_ATOM_MAX + 1];
        const char *reason; /* static */
} CompressEvent;

typedef struct CompressReport {
        CompressEvent event[COMPRESS_EVENTS_MAX];
        size_t n;       /* events kept */
        size_t n_total; /* events that happened */
} CompressReport;

/* report may be NULL. Returns 0, CCS_E_OVER_BUDGET when goals and constraints alone exceed the bound (C-33), -ENOMEM.
 */
int ccs_compress(const CompressInput *in, Ccs *ret, CompressReport *report, Diag *reterr);

/* CCS_0 (C-3). role: a JSON object {"role"?,"goal"?: text or list,"constraints"?: [text],"policy"?: [text],
 * "bound"?: {"bytes"?,"tokens"?}}, or plain text or markdown, whose sentences with rules become constraints of the
 * operator; NULL: none. *ret_bound: of the role, or CCS_BOUND. Returns 0; CCS_E_SYNTAX, CCS_E_FIELD, CCS_E_ATOM for an
 * invalid role; CCS_E_COUNT, CCS_E_OVER_BUDGET with the first rules for which there is no room; -ENOMEM. */
int ccs_begin(const char *role_or_null, size_t n, Ccs *ret, CcsBound *ret_bound, CompressReport *report, Diag *reterr);
/* The same under a bound in place of the role's. */
int ccs_begin_within(const char *role_or_null, size_t n, const CcsBound *given_or_null, Ccs *ret, CcsBound *ret_bound,
                     CompressReport *report, Diag *reterr);
