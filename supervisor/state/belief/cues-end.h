/* Runs: supervisor, CLI. Inside of the built-in interpreter: the reader of ends in plain English (G-66). A sentence is
 * cut into clauses. A clause with an end is a noun phrase, a predicate of the tables and harmless adverbials. An
 * unknown word makes the reader abstain. Linear in the sentences; a sentence has at most SENTENCE_WORDS_MAX words. */
#pragma once

#include "belief/cues-draft.h"

typedef enum EndWord {
#define CLASS(name, ...) END_WORD_##name,
#include "belief/cues-end-words.def"
#undef CLASS
        END_WORD_COUNT_,
} EndWord;
static_assert(END_WORD_COUNT_ <= 64, "a tag has a bit for each class");
#define END_BIT(name) (UINT64_C(1) << END_WORD_##name)

typedef struct EndText {
        const Sentence *s;
        uint64_t tags[SENTENCE_WORDS_MAX]; /* 0: no word of the tables, or quoted */
        bool id[SENTENCE_WORDS_MAX];       /* a name with "_" */
} EndText;
void end_text_read(const Sentence *s, EndText *ret);
static inline bool end_is(const EndText *t, size_t i, uint64_t classes) {
        return i < t->s->n && (t->tags[i] & classes) != 0;
}
bool end_has(const EndText *t, size_t from, size_t to, uint64_t classes);
bool end_word_is(const EndText *t, size_t i, const char *word);
/* Does a clause begin at word i: at the first word, or behind a mark? */
static inline bool end_clause_begins(const EndText *t, size_t i) {
        return i == 0 || t->s->words[i - 1].stop;
}
size_t end_clause_to(const EndText *t, size_t i); /* the word behind the next mark */
size_t end_phrase(const EndText *t, size_t i,
                  const char *phrase);                         /* the word behind the phrase at word i; 0: not there */
size_t end_skip(const EndText *t, size_t i, uint64_t classes); /* over words of the classes, within the clause */

typedef enum EndClass {
        END_TROUBLE = 1,      /* an issue */
        END_LIFT,             /* a constraint, or what the noun says */
        END_REVERSE,          /* a decision, or what the noun says */
        END_NAMED,            /* what the noun, or the name, says */
        END_TROUBLE_OR_NAMED, /* by the noun, else an issue */
} EndClass;

/* The end in the words [from, to) of a sentence. */
typedef struct EndClaim {
        Kind kind;
        size_t from, to;
        uint8_t words[SENTENCE_WORDS_MAX]; /* the name of the row */
        size_t n;
        size_t id;    /* the number of the word with the row's id, plus 1; 0: no id */
        bool anaphor; /* "it", "the issue" */
        size_t own,
                own_to; /* the row's own text, "tests run offline" of "the rule that tests run offline": no statement */
        const char *needs; /* words of which the row has to know one, with "/"; or NULL */
} EndClaim;

/* A predicate at word `at`. */
typedef struct EndVerb {
        EndClass is;
        size_t to;                /* the word behind the predicate */
        size_t object, object_to; /* the row is the object; object 0 and object_to 0: the subject */
        size_t more, more_to;     /* further words of the name */
        const char *needs;
        bool plain; /* "works": the subject has to say the trouble */
} EndVerb;
/* cues-end-verb.c: from: the first word of the clause. */
bool end_verb_at(const EndText *t, size_t from, size_t at, EndVerb *ret);
/* Does word i end the rule or the decision whose id is the word before it: "no_network: withdrawn"? */
bool end_label_ends(const EndText *t, size_t from, size_t i);
/* The word behind the adverbials from word i on: the end of the clause, or an unknown word. */
size_t end_tail(const EndText *t, size_t i);
/* "since v2.4", "as of today": the word behind; i: no such phrase. */
size_t end_time(const EndText *t, size_t i);
/* The end of the object, or of the complement, from word i on. */
size_t end_object_to(const EndText *t, size_t i);
/* Is word i of a noun phrase a part of the row's name? */
bool end_tells(const EndText *t, size_t i, Kind kind);
/* The noun phrase [from, to) into the claim. */
bool end_take_noun(const EndText *t, size_t from, size_t to, EndClass is, EndClaim *c);

/* Reads the end in a sentence. Returns 0: no end; 1; 2: several ends. */
int sentence_end(const EndText *t, EndClaim *ret);
/* Nothing in the sentence beside its words [from, to) makes an end doubtful. */
bool sentence_end_stands(const EndText *t, const EndClaim *c);
