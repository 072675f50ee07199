/* Runs: supervisor, CLI. The gate Q: which recalled artifacts may influence a state (C-23). Six clauses, all of which
 * have to hold; a refusal names its clause. Pure.
 *
 * Two clauses judge a text alone (clean, trusted): the verdict is made once, when evidence is stored, and refused
 * evidence never takes the place of other evidence. Four clauses look at the state and at all artifacts. */
#pragma once

#include "cognition/ccs.h"
#include "record/kind.h"

/* The speaker of a text, the least trusted first. */
typedef enum EvidenceSource {
        EVIDENCE_DOCUMENT,
        EVIDENCE_MODEL, /* the agent's own decisions */
        EVIDENCE_TOOL,
        EVIDENCE_USER,
        EVIDENCE_OPERATOR,
        EVIDENCE_POLICY,
        EVIDENCE_SOURCES,
} EvidenceSource;
/* "document", "model", "tool", "user", "operator", "policy"; NULL, EVIDENCE_SOURCES for an unknown value. */
const char *evidence_source_name(EvidenceSource s);
EvidenceSource evidence_source_from_name(const char *name);

typedef enum QualifyClause {
        QUALIFY_OK,
        QUALIFY_LIVE,       /* (a) not archived, removed, superseded, resolved, invalidated */
        QUALIFY_RELEVANT,   /* (b) shares a focal entity, a goal's term, or an entity of the turn */
        QUALIFY_TRUSTED,    /* (c) the source is trusted for what the text asserts */
        QUALIFY_CONSISTENT, /* (d) asserts no action that an active constraint forbids */
        QUALIFY_CLEAN,      /* (e) no directive to the agent */
        QUALIFY_NEWEST,     /* (f) nothing fresher on the same subject and predicate */
        QUALIFY_CLAUSES,
} QualifyClause;
/* "live", "relevant" …; "" for QUALIFY_OK. */
const char *qualify_clause_name(QualifyClause c);

#define QUALIFY_SUBJECT_MAX 128

typedef struct Artifact {
        const char *text; /* borrowed */
        size_t n;
        EvidenceSource source;
        RecordState state;
        bool judged;      /* qualify_text() accepted the text when it was stored */
        bool relevant;    /* by the terms of the query (recall.h) */
        uint64_t last;    /* the seq of the newest event: the fresher has the greater */
        const char *subject; /* of a record with named subject and predicate; NULL: of the text's first sentence */
        /* By qualify(): */
        QualifyClause clause;
        size_t n_about;
        char about[QUALIFY_SUBJECT_MAX];
} Artifact;

#define QUALIFY_TEXT_MAX (16 * 1024) /* bytes of a text that are read for the clauses (d) and (f) */

/* (e), then (c). The floors: a rule, a goal or a permission takes a user; a fact takes any source. */
QualifyClause qualify_text(EvidenceSource source, const char *text, size_t n);
/* Has the text a directive to the agent? */
bool qualify_has_directive(const char *text, size_t n);
/* Does the text state a rule, a goal or a permission? */
bool qualify_has_rule(const char *text, size_t n);
/* Does a sentence of the text propose what the constraint forbids? constraint: must_not(...) or avoid(...); others forbid
 * nothing. */
bool qualify_forbidden(const char *constraint, const char *text, size_t n);
/* The subject and predicate of the first sentence with both ("the replica lag is 3 s": "the replica lag"), as
 * normalised words with a blank between. Returns the length, 0: none. */
size_t qualify_subject(const char *text, size_t n, char ret[static QUALIFY_SUBJECT_MAX]);

/* Judges artifacts[i], which follows the judged artifacts before it, the best first; the caller ends when *n_chosen are
 * enough. Only a chosen artifact can make another one old (f): with a later text on the same subject and predicate, or
 * the same text. So an artifact that is not chosen has no influence on the choice (C-25). */
void qualify(const Ccs *state, Artifact *artifacts, size_t i, size_t *n_chosen);
