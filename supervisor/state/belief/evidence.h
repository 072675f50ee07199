/* Runs: supervisor, CLI. The evidence that a request is about a row: from the request, its note and the row, for
 * resolve_decide(). The same code for promotion, for replays of the queue and for the measurement (tests/eval). */
#pragma once

#include "belief/mention.h"
#include "belief/request.h"
#include "index/likeness.h"
#include "engine/resolve.h"

/* The question to the resolver. All fields are borrowed. */
typedef struct ResolveQuestion {
        Op op;
        const char *target;    /* NULL: the request has no target */
        const char *reference; /* NULL: the note's first clause is used */
        const char *head;      /* of the request; NULL: any row may be meant */
        const json_t *aliases; /* array of texts, or NULL */
        const char *text;      /* the note */
        size_t n_text;
        const char *agent; /* that wrote the note; NULL: unknown */
} ResolveQuestion;
/* The question of an accepted request. Without a reference, a creating request is about the text of its payload. */
ResolveQuestion asked_by(const BeliefRequest *req, const char *text, size_t n_text);

typedef struct ResolveEvidence {
        Saying saying;
        const char *target;      /* borrowed */
        uint32_t *head;          /* owned: terms of the request's head; none: any row may be meant */
        size_t n_head;
        uint32_t *needs; /* owned: terms of the head's alternatives, "fail/flaky"; the row has one of them; or none */
        size_t n_needs;
        Mention mentions[MENTIONS_MAX];
        size_t n_mentions;
        struct EvidenceSlug {
                char id[RECORD_ID_MAX];
                bool aside; /* only compared with or referred to, at this place (mention.h) */
        } *slugs; /* owned: words of the text with a "_", which may be ids */
        size_t n_slugs;
} ResolveEvidence;
/* Borrows asked->text. Returns 0, -ENOMEM, -EFBIG. */
int evidence_init(Lexicon *l, const ResolveQuestion *asked, ResolveEvidence *ret);
void evidence_deinit(ResolveEvidence *e);
#define _cleanup_evidence_ _cleanup_(evidence_deinit)

/* The words of a row. */
typedef struct EvidenceRow {
        const char *id, *title; /* borrowed */
        Naming naming;          /* of the title */
        Naming *memory; /* the words of the id, when several; known aliases and phrases; sentences of the text (G-70) */
        size_t n_memory;
        char *detail;           /* owned: the text behind the title */
        uint32_t *text;         /* owned: the terms of all the row's text (G-70), ascending */
        size_t n_text;
} EvidenceRow;
#define EVIDENCE_SENTENCES_MAX 8 /* of a row's text beside its title; a longer text is read, but not sentence by sentence */
/* text: all text of the payload, title included. aliases and phrases: from the record's row; either may be NULL. */
int evidence_row_init(Lexicon *l, const char *id, const char *title, const char *text, const json_t *aliases,
                      const json_t *phrases, EvidenceRow *ret);
/* Replaces aliases and phrases. */
int evidence_row_known_as(Lexicon *l, EvidenceRow *row, const json_t *aliases, const json_t *phrases);
void evidence_row_deinit(EvidenceRow *row);
#define _cleanup_evidence_row_ _cleanup_(evidence_row_deinit)

/* Tells whether the text mentions the row by hash or title; meant: as its subject, else in any other way. */
bool evidence_mentions(const ResolveEvidence *e, const EvidenceRow *row, bool meant);

/* Fills in all fields but number and score. Returns 0 or the error of a term's count. */
int evidence_weigh(Lexicon *l, const ResolveEvidence *e, const EvidenceRow *row, ResolveCandidate *ret);
