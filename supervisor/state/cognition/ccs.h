/* Runs: supervisor, CLI. The Compressed Cognitive State (CCS): the only state that a cognitive session keeps between
 * two turns. Nine lists of atoms, each with a bound (C-4..C-16). Pure.
 *
 * The order of a list has a meaning: focal_entities and retrieved_artifacts stand oldest first, and the first
 * goes first (C-33). The text is the whole state: parse(print(x)) = x (ccs-text.h). */
#pragma once

#include "cognition/atom.h"

typedef enum CcsField {
        CCS_EPISODIC_TRACE,
        CCS_SEMANTIC_GIST,
        CCS_FOCAL_ENTITIES,
        CCS_RELATIONAL_MAP,
        CCS_GOAL_ORIENTATION,
        CCS_CONSTRAINTS,
        CCS_PREDICTIVE_CUE,
        CCS_UNCERTAINTY_SIGNAL,
        CCS_RETRIEVED_ARTIFACTS,
        CCS_FIELDS,
} CcsField;

#define CCS_SCHEMA "ccs/1"
#define CCS_ATOM_MAX ATOM_MAX
#define CCS_GIST_MAX 160   /* bytes of the whole gist */
#define CCS_BYTES 2048     /* of the text, by default */
#define CCS_TOKENS 512
#define CCS_ATOMS_MAX 32   /* the longest list */

/* Fixed at the beginning of a session (C-15). */
typedef struct CcsBound {
        size_t bytes, tokens; /* of the text */
} CcsBound;
#define CCS_BOUND ((CcsBound){.bytes = CCS_BYTES, .tokens = CCS_TOKENS})
#define CCS_BOUND_LEAST ((CcsBound){.bytes = 192, .tokens = 32}) /* a state without rules and with a short goal fits */
#define CCS_BOUND_MOST 16384                                     /* of bytes, and of tokens */

typedef struct CcsList {
        char *atoms[CCS_ATOMS_MAX]; /* canonical texts (atom.h); owned */
        size_t n;
} CcsList;

typedef struct Ccs {
        CcsList field[CCS_FIELDS];
} Ccs;
#define CCS_NULL ((Ccs){0})
void ccs_deinit(Ccs *c);
#define _cleanup_ccs_ _cleanup_(ccs_deinit)

enum {
        CCS_E_SYNTAX = 1, /* a text or an atom outside of the grammar: message with line and rule */
        CCS_E_FIELD,      /* a field is missing, unknown, or there twice */
        CCS_E_COUNT,      /* too few or too many atoms, or an atom twice */
        CCS_E_ATOM,       /* an atom that its field does not allow */
        CCS_E_OVER_BUDGET, /* the text is longer than the bound */
};

/* "episodic_trace" … Borrowed. */
const char *ccs_field_name(CcsField f);
/* Least and greatest number of atoms. */
void ccs_field_bounds(CcsField f, size_t *ret_min, size_t *ret_max);
/* Adds an atom, written in any form of the grammar, at the end. An atom of the list moves to the end
 * (focal_entities, retrieved_artifacts) or stays (other fields). An entity or artifact replaces the atom with the same
 * id. Returns 0, -ENOMEM, CCS_E_SYNTAX, CCS_E_COUNT beyond the field's greatest number. */
int ccs_add(Ccs *c, CcsField f, const char *atom, Diag *reterr);
void ccs_remove(Ccs *c, CcsField f, size_t at);
/* Where the canonical atom stands, or the list's n. */
size_t ccs_find(const Ccs *c, CcsField f, const char *atom);
/* *ret is CCS_NULL before. Returns 0, -ENOMEM. */
int ccs_copy(const Ccs *from, Ccs *ret);
/* Are the two the same, atom by atom? */
bool ccs_equal(const Ccs *a, const Ccs *b);
/* The rules of one field for one atom, without its neighbours. Returns 0, CCS_E_ATOM. */
int ccs_validate_atom(CcsField f, const Atom *a, Diag *reterr);
/* Every rule of a single state: counts, forms of atoms, unique ids of entities, polarity and source of constraints
 * (C-4..C-14), and the bound (C-15; NULL: none). Returns 0, CCS_E_*. */
int ccs_validate(const Ccs *c, const CcsBound *bound, Diag *reterr);
/* Runs of [A-Za-z0-9_], and single other characters that are no white space (C-54). */
size_t ccs_tokens(const char *text, size_t n);
/* The schema in short lines, as schema/ccs.md has it; a prompt can show the text to a model. Static. */
const char *ccs_schema_text(void);
/* SHA-256 of ccs_schema_text(), lowercase hex, for the stamp of each state (C-16). Static. */
const char *ccs_schema_hash(void);
