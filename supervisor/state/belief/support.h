/* Runs: supervisor, CLI. The evidence in a note for what an advisor made of the note (G-65). No model's word alone
 * changes belief: operation, row and texts of a request need support in the note's own text, by the same measure as a
 * note without an advisor. */
#pragma once

#include "belief/bucket.h"
#include "belief/request.h"
#include "engine/resolve.h"
#include "index/lexicon.h"

#define SUPPORT_REASON "uncorroborated"

typedef struct NoteSupport {
        Lexicon *lexicon;         /* owned */
        struct SupportSentence *sentences; /* owned: of the note */
        size_t n_sentences;
        uint8_t *in_note;         /* owned: by term, 1 for terms of the note, 2 for words that say nothing */
        uint32_t n_in_note;
        const char *note; /* borrowed */
        size_t n_note;
        BeliefRequest said;       /* what the built-in interpreter makes of the note, when the operation is the same */
        bool says_operation;      /* the note has a cue for bucket and operation */
        BeliefRequest heard;      /* the advisor's request, with the names that stand in the note; borrows */
        json_t *aliases;          /* owned: of heard */
        json_t *missing;          /* owned: array of the names of fields without support */
} NoteSupport;

/* request is borrowed until support_deinit(). Returns 0, -ENOMEM, -EFBIG. */
int support_init(const BeliefRequest *request, const char *note, size_t n, NoteSupport *ret);
void support_deinit(NoteSupport *s);
#define _cleanup_support_ _cleanup_(support_deinit)

/* Puts a field on the list, once. Returns 0, -ENOMEM. */
int support_miss(NoteSupport *s, const char *field);
/* Looks at operation and payload, and at the id when the request makes a new row. Returns 0, -ENOMEM. */
int support_judge(NoteSupport *s, bool is_new);
/* Looks at target_id: among the rows that the note's own words fit, an advisor may choose, unless the words alone mean
 * another row. A new row may not be one that is there already. Returns 0 or -errno. */
int support_judge_row(NoteSupport *s, Bucket *b, const ResolvePolicy *policy, bool is_new);
