/* Runs: CLI. A history of changes with known answers, to measure how well notes are bound (`lethe eval identity`). One row a line, in order of time, columns
 * between tabs: id, time in seconds, subject, fixes (comma list of ids of earlier rows: the right answers; mostly empty), body. Lines that begin with
 * # are passed over; so are ids that fixes has and no row of the file, as of a stretch of a longer history. What people wrote into it is data: a row that
 * cannot be read is an error with its line. */
#pragma once

#include "base/diag.h"
#include "record/kind.h"

#define CHANGES_ROWS_MAX 1000000
#define CHANGES_LINE_MAX (256 * 1024)

enum {
        CHANGES_E_BAD = 1, /* message names the line */
        CHANGES_E_PAIRS,   /* that of the pairs */
};

typedef struct ChangesRow {
        const char *id, *subject, *body; /* lent from the text */
        char slug[RECORD_ID_MAX];        /* the id as a record's: "c_" and it */
        uint32_t *gold;                  /* owned: numbers of rows, all earlier ones */
        size_t n_gold;
} ChangesRow;

typedef struct Changes {
        char *text; /* owned */
        ChangesRow *rows;
        size_t n, n_notes; /* rows with gold */
        size_t n_outside;  /* ids in fixes that no row of the file has: passed over */
        size_t n_back;     /* rows with an earlier time than the row above: the order of the lines is what counts */
        uint64_t time;     /* of the newest, while it is read */
} Changes;
/* Takes over text, of n bytes and a NUL. Returns 0, CHANGES_E_BAD, -ENOMEM. */
int changes_read(char *text, size_t n, Changes *ret, Diag *reterr);
/* Titles of issues: id, time, resolution, title a line; and lines "id,id" of pairs that are duplicates, gold of the later one of the two. Same results,
 * and CHANGES_E_PAIRS. */
int changes_read_titles(char *text, size_t n, const char *pairs_or_null, Changes *ret, Diag *reterr);
void changes_deinit(Changes *h);
#define _cleanup_changes_ _cleanup_(changes_deinit)

/* Is it, without case and white space counting, the subject of a row? */
bool changes_have_subject(const Changes *h, const char *s, size_t n);

typedef enum NoteText {
        NOTE_AS_IS,  /* subject and body */
        NOTE_PLAIN,  /* and the reference that its author gave, which the columns keep apart: "Fixes: ID ("SUBJECT")" */
        NOTE_MASKED, /* without hashes and without quoted subjects */
} NoteText;
/* The note of a row in the note grammar. Owned; NULL: no memory. */
char *changes_note(const Changes *h, size_t row, NoteText how);
