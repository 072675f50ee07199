/* Runs: tests. A history of changes with known answers, to measure how well notes are bound (README.md). A row a line,
 * in order of time, columns between tabs: id, time in seconds, subject, fixes (comma list of ids of earlier rows: the
 * right answers; mostly empty), body. Or eight columns: id, time, author, people, subject, fixes, body, files; people
 * and files are comma lists. The first line decides. Skipped: lines that begin with #, and ids in fixes without a row in
 * the file (the file may be a stretch of a longer history). The file is not trusted: an invalid row is an error with its
 * line. */
#pragma once

#include "base/diag.h"
#include "record/kind.h"

#define CHANGES_ROWS_MAX 1000000
#define CHANGES_LINE_MAX (256 * 1024)

enum {
        CHANGES_E_BAD = 1, /* the message names the line */
        CHANGES_E_PAIRS,   /* the message names the line of the pairs */
};

typedef struct ChangesRow {
        const char *id, *subject, *body; /* borrowed from the text */
        const char *author, *people, *files; /* borrowed; "" in a file with five columns */
        char slug[RECORD_ID_MAX];        /* the id of a record: "c_" and the row's id */
        uint32_t *gold;                  /* owned: numbers of earlier rows */
        size_t n_gold;
} ChangesRow;

typedef struct Changes {
        char *text; /* owned */
        ChangesRow *rows;
        size_t n, n_notes; /* rows with gold */
        size_t n_outside;  /* ids in fixes without a row in the file: skipped */
        size_t n_back;     /* rows with an earlier time than the previous row: the order of the lines counts */
        uint64_t time;     /* of the newest row, during reading */
} Changes;
/* Takes ownership of text, of n bytes and a NUL. Returns 0, CHANGES_E_BAD, -ENOMEM. */
int changes_read(char *text, size_t n, Changes *ret, Diag *reterr);
/* Titles of issues: id, time, resolution, title a line; and lines "id,id" of duplicates, gold of the later row of the
 * two. Returns the same, and CHANGES_E_PAIRS. */
int changes_read_titles(char *text, size_t n, const char *pairs_or_null, Changes *ret, Diag *reterr);
void changes_deinit(Changes *h);
#define _cleanup_changes_ _cleanup_(changes_deinit)

typedef enum NoteText {
        NOTE_AS_IS,  /* subject and body */
        NOTE_PLAIN,  /* and the author's reference, which the columns keep apart: "Fixes: ID ("SUBJECT")" */
        NOTE_MASKED, /* without hashes and without quoted subjects */
} NoteText;
/* Tells whether the row with number `gold` is a right answer. */
bool changes_has_gold(const ChangesRow *row, uint64_t gold);
/* The note of a row in the note grammar. Owned; NULL: out of memory. */
char *changes_note(const Changes *h, size_t row, NoteText how);
/* The same of a row that need not be in the history. */
char *changes_note_of(const Changes *h, const ChangesRow *row, NoteText how);
