/* Runs: supervisor, CLI. One atom of a cognitive state: name(argument, ...) (C-5, schema/ccs.md). Pure; nothing is
 * allocated.
 *
 *   atom     = name "(" argument *( "," argument ) ")"          name = [a-z][a-z0-9_]{0,31}
 *   argument = 1*( atom / word / string )                       side by side: timing(502_spikes after(http2_enable))
 *   word     = 1*( UTF-8, but no white space, no control character, no mark (utf8.h), none of ( ) , " & ; )
 *   string   = DQUOTE 1*( as a word, white space, and ( ) , & ; or \" or \\ ) DQUOTE
 *
 * The canonical text has one blank between the parts of an argument and ", " between arguments. A string of words and
 * blanks alone stands without quotes. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#define ATOM_MAX 96        /* bytes of the canonical text */
#define ATOM_DEPTH_MAX 3   /* the whole atom is 1 */
#define ATOM_NAME_MAX 32   /* bytes */
#define ATOM_PARTS_MAX 48  /* more do not fit into ATOM_MAX bytes */

typedef enum AtomPartKind {
        ATOM_NESTED, /* an atom: the name; the parts inside follow */
        ATOM_WORD,
        ATOM_STRING, /* the text between the quotes, as it stands in the canonical text */
} AtomPartKind;

typedef struct AtomPart {
        uint8_t kind;  /* AtomPartKind */
        uint8_t depth; /* 0: the whole atom; 1: a part of an argument; … */
        uint8_t arg;   /* in which argument of the atom above, from 0 */
        uint8_t at, n; /* place in Atom.text */
} AtomPart;

typedef struct Atom {
        char text[ATOM_MAX + 1]; /* canonical, NUL-terminated */
        size_t n;
        AtomPart parts[ATOM_PARTS_MAX]; /* as they stand in the text; parts[0] is the whole atom */
        size_t n_parts;
} Atom;

enum {
        ATOM_E_SYNTAX = 1, /* outside of the grammar; the message has the place and the rule */
        ATOM_E_LONG,       /* more than ATOM_MAX bytes, or a name of more than ATOM_NAME_MAX */
        ATOM_E_DEPTH,      /* deeper than ATOM_DEPTH_MAX */
};

/* Reads the atom that begins at text[*at] (white space before is skipped); *at is then behind the last ')'. An atom
 * ends before the next line feed. Returns 0, ATOM_E_*. */
int atom_read(const char *text, size_t n, size_t *at, Atom *ret, Diag *reterr);
/* The same for a text with a single atom, between white space. */
int atom_parse(const char *text, size_t n, Atom *ret, Diag *reterr);

/* Makes name(arg, arg) of plain texts with any bytes: quotes are set where the grammar needs quotes; control
 * characters, marks and invalid UTF-8 become blanks. An argument without a word is
 * left out. Returns 0, ATOM_E_SYNTAX (bad name, or no argument left), ATOM_E_LONG. */
int atom_make(const char *name, const char *const *args, size_t n_args, Atom *ret);
/* Makes name(inner): possible(rent(car)). Returns 0, ATOM_E_*. */
int atom_wrap(const char *name, const Atom *inner, Atom *ret);

/* Is this the atom's name? */
bool atom_is(const Atom *a, const char *name);
/* The number of arguments. */
size_t atom_n_args(const Atom *a);
/* The canonical text of argument i, with quotes and nested atoms; borrowed from `a`. false: there is none. */
bool atom_arg(const Atom *a, size_t i, const char **ret, size_t *ret_n);
/* Is argument i this single word? */
bool atom_arg_is(const Atom *a, size_t i, const char *word);
/* The text of a part without the signs of a quoted string, NUL-terminated. Returns its length. */
size_t atom_part_text(const Atom *a, size_t part, char ret[static ATOM_MAX + 1]);

/* Normalised words, for grounding (C-31) and support (C-33): runs of letters and digits in lower case; an inner _ - . '
 * separates. "5th" and "fifth" are 5, "3pm" is 3 and pm, "twenty-five" is 25, "1,200" is 1200; an English ending (s,
 * ed, ing, e) is cut off. */
typedef struct AtomWord {
        char p[32]; /* a longer word: its first bytes; no NUL follows */
        size_t n;
} AtomWord;
/* The next word of any text. *at is 0 at first; false at the end. */
bool atom_word_next(const char *text, size_t n, size_t *at, AtomWord *ret);
/* All words of the arguments, names of nested atoms among them. Returns their number, at most ATOM_MAX / 2. */
size_t atom_words(const Atom *a, AtomWord ret[static ATOM_MAX / 2]);
