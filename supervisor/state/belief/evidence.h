/* Runs: supervisor, CLI. What speaks for one row being what a request is about: from the request, the note that it was made of, and the row, the evidence
 * that resolve_decide() judges. One piece for promotion, for the queue's replay and for `lethe eval identity`. */
#pragma once

#include "belief/mention.h"
#include "belief/request.h"
#include "index/likeness.h"
#include "engine/resolve.h"

/* What was asked. All is borrowed. */
typedef struct Asked {
        Op op;
        const char *target;    /* NULL: the request names none */
        const char *reference; /* NULL: the note's first clause stands for it */
        const json_t *aliases; /* array of texts, or NULL */
        const char *text;      /* the note */
        size_t n_text;
} Asked;
/* Of a request that was accepted. A request that would create is about what it says in its payload, where it gives no reference. */
Asked asked_by(const BeliefRequest *req, const char *text, size_t n_text);

typedef struct Evidence {
        Saying saying;
        const char *target;      /* borrowed */
        Mention mentions[MENTIONS_MAX];
        size_t n_mentions;
        char (*slugs)[RECORD_ID_MAX]; /* words of the text that may be ids: with a "_" in them */
        size_t n_slugs;
} Evidence;
/* asked->text is lent to it. Returns 0, -ENOMEM, -EFBIG. */
int evidence_init(Lexicon *l, const Asked *asked, Evidence *ret);
void evidence_deinit(Evidence *e);
#define _cleanup_evidence_ _cleanup_(evidence_deinit)

/* What a row says. */
typedef struct EvidenceRow {
        const char *id, *title; /* borrowed */
        Naming naming;          /* of the title */
        Naming *memory;         /* the words of its id, where there are several; aliases and phrases that it was known by */
        size_t n_memory;
} EvidenceRow;
/* aliases and phrases as the record's row has them; either may be NULL. */
int evidence_row_init(Lexicon *l, const char *id, const char *title, const json_t *aliases, const json_t *phrases, EvidenceRow *ret);
/* In place of what was there. */
int evidence_row_known_as(Lexicon *l, EvidenceRow *row, const json_t *aliases, const json_t *phrases);
void evidence_row_deinit(EvidenceRow *row);
#define _cleanup_evidence_row_ _cleanup_(evidence_row_deinit)

/* Does the text mention the row by hash or title, as the one that is meant, or in another way? */
bool evidence_mentions(const Evidence *e, const EvidenceRow *row, bool meant);

/* Fills in all but number and score. Returns 0 or what the count of a term returned. */
int evidence_weigh(Lexicon *l, const Evidence *e, const EvidenceRow *row, ResolveCandidate *ret);
