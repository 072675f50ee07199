#include "tests/eval/changes.h"

#include "base/clean.h"
#include "base/hash.h"
#include "base/size.h"
#include "belief/mention.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The number of each column; NONE: no such column. */
typedef struct ChangesLayout {
        size_t columns, subject, fixes, body, author, people, files;
        const char *names;
} ChangesLayout;
#define NONE SIZE_MAX
static const ChangesLayout notes_layout = {5, 2, 3, 4, NONE, NONE, NONE, "id, time, subject, fixes, body"};
static const ChangesLayout wide_layout = {8, 4, 5, 6, 2, 3, 7,
                                          "id, time, author, people, subject, fixes, body, files"};
static const ChangesLayout titles_layout = {4, 3, NONE, NONE, NONE, NONE, NONE, "id, time, resolution, title"};
#define COLUMNS_MAX 8
#define FIXES_MAX 1024 /* ids in a row */

/* A hash table of ids: the number of the row plus 1; 0: free. */
typedef struct ChangesTable {
        uint32_t *p;
        size_t n;
} ChangesTable;
static void changes_table_deinit(ChangesTable *x) {
        free(x->p);
}

static char changes_lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static int changes_table_init(ChangesTable *x, size_t rows) {
        for (x->n = 64; x->n < 2 * rows; x->n *= 2)
                ;
        x->p = calloc(x->n, sizeof(*x->p));
        return x->p ? 0 : -ENOMEM;
}

/* The number of the row with the id, or h->n with the free slot in *ret_at. */
static size_t changes_find(const Changes *h, const ChangesTable *x, const char *id, size_t n_id, size_t *ret_at) {
        size_t k;

        for (k = siphash(0, id, n_id) & (x->n - 1); x->p[k]; k = (k + 1) & (x->n - 1)) {
                const char *other = h->rows[x->p[k] - 1].id;

                if (strncmp(other, id, n_id) == 0 && other[n_id] == 0)
                        return x->p[k] - 1;
        }
        *ret_at = k;
        return h->n;
}

static bool changes_id_fits(const char *id, size_t n) {
        return n > 0 && strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz_") >= n && n + 3 <= RECORD_ID_MAX;
}

static int changes_add_gold(ChangesRow *row, size_t gold) {
        if (!GROW(row->gold, row->n_gold))
                return -ENOMEM;
        row->gold[row->n_gold++] = (uint32_t)gold;
        return 0;
}

/* Ids without a row so far. Rows before the file's beginning are allowed (a stretch of a history), later rows are
 * not. */
typedef struct ChangesOutside {
        struct ChangesOutsideId {
                const char *id; /* borrowed from the text */
                size_t n, line;
        } *v;
        size_t n;
} ChangesOutside;

static void changes_outside_deinit(ChangesOutside *o) {
        free(o->v);
}

static int changes_add_outside(ChangesOutside *o, const char *id, size_t n, size_t line) {
        if (!GROW(o->v, o->n))
                return -ENOMEM;
        o->v[o->n++] = (struct ChangesOutsideId){id, n, line};
        return 0;
}

bool changes_has_gold(const ChangesRow *row, uint64_t gold) {
        for (size_t i = 0; i < row->n_gold; i++)
                if (row->gold[i] == gold)
                        return true;
        return false;
}

#define ID_RULE "an id is 1 to 61 of a-z, 0-9 and _"

static int changes_read_gold(const Changes *h, const ChangesTable *ids, const char *list, ChangesRow *row, size_t line,
                             ChangesOutside *outside, Diag *reterr) {
        bool more = *list;
        char shown[128];
        int r = 0;

        while (more && r == 0) {
                size_t n = strcspn(list, ","), unused, gold = changes_find(h, ids, list, n, &unused);

                if (!changes_id_fits(list, n))
                        return diag(reterr, CHANGES_E_BAD,
                                    "line %zu: fixes has \"%s\": " ID_RULE ", and a comma stands between two", line,
                                    diag_quote(list, n, shown, sizeof(shown)));
                if (row->n_gold == FIXES_MAX)
                        return diag(reterr, CHANGES_E_BAD, "line %zu: fixes has more than %d ids", line, FIXES_MAX);
                if (gold == h->n)
                        r = changes_add_outside(outside, list, n, line);
                else if (!changes_has_gold(row, gold)) /* histories name a reference twice, and mean it once */
                        r = changes_add_gold(row, gold);
                more = list[n] == ',';
                list += n + more;
        }
        return r;
}

/* Checks a text that becomes part of a note. */
static int changes_check_text(const char *field, const char *text, size_t line, Diag *reterr) {
        Diag why = {0};

        if (clean_check(field, text, strlen(text), true, &why) == 0)
                return 0;
        return diag(reterr, CHANGES_E_BAD, "line %zu: %s%s", line, why.text,
                    strchr(text, '\r') ? " (lines end with a line feed alone)" : "");
}

/* Reads the time of a history's row (titles have times of any form). A time before the previous row's is allowed,
 * because histories are merged; the row is counted. */
static int changes_read_time(const char *text, Changes *h, size_t line, Diag *reterr) {
        uint64_t before = h->time;
        char shown[128];

        if (count_parse(text, &h->time) != 0)
                return diag(reterr, CHANGES_E_BAD,
                            "line %zu: time is \"%s\": it is a whole number of seconds since 1970", line,
                            diag_quote(text, strlen(text), shown, sizeof(shown)));
        h->n_back += h->time < before;
        return 0;
}

static int changes_read_line(Changes *h, ChangesTable *ids, const ChangesLayout *layout, char *line, size_t number,
                             ChangesOutside *outside, Diag *reterr) {
        ChangesRow *row = &h->rows[h->n];
        char *column[COLUMNS_MAX] = {line}, shown[128];
        size_t n = 1, at;
        int r = 0;

        for (char *p = line; (p = strchr(p, '\t')); p++) {
                *p = 0;
                if (n < layout->columns)
                        column[n] = p + 1;
                n++;
        }
        if (n != layout->columns)
                return diag(reterr, CHANGES_E_BAD, "line %zu has %zu column%s, not %zu with tabs between: %s", number,
                            n, n == 1 ? "" : "s", layout->columns, layout->names);
        if (!changes_id_fits(column[0], strlen(column[0])))
                return diag(reterr, CHANGES_E_BAD, "line %zu: id is \"%s\": " ID_RULE, number,
                            diag_quote(column[0], strlen(column[0]), shown, sizeof(shown)));
        if (changes_find(h, ids, column[0], strlen(column[0]), &at) != h->n)
                return diag(reterr, CHANGES_E_BAD,
                            "line %zu: id is \"%s\", as in an earlier line: each line has an id of its own", number,
                            column[0]);
        if (clean_blank(column[layout->subject], strlen(column[layout->subject])))
                return diag(reterr, CHANGES_E_BAD, "line %zu has no %s", number,
                            layout->body == NONE ? "title" : "subject");
        *row = (ChangesRow){.id = column[0], .subject = column[layout->subject],
                            .body = layout->body == NONE ? "" : column[layout->body],
                            .author = layout->author == NONE ? "" : column[layout->author],
                            .people = layout->people == NONE ? "" : column[layout->people],
                            .files = layout->files == NONE ? "" : column[layout->files]};
        snprintf(row->slug, sizeof(row->slug), "c_%s", row->id);
        if (layout->fixes != NONE) { /* an invalid title is allowed: the note is refused later, and counted */
                r = changes_check_text("subject", row->subject, number, reterr);
                if (r == 0)
                        r = changes_check_text("body", row->body, number, reterr)
                                ?: changes_read_time(column[1], h, number, reterr)
                                ?: changes_read_gold(h, ids, column[layout->fixes], row, number, outside, reterr);
        }
        if (r != 0) {
                free(row->gold);
                return r;
        }
        h->n_notes += row->n_gold > 0;
        ids->p[at] = (uint32_t)++h->n;
        return 0;
}

static int changes_read_pairs(Changes *h, const ChangesTable *ids, const char *pairs, Diag *reterr) {
        size_t line = 0;
        int r = 0;

        while (*pairs && r == 0) {
                size_t n = strcspn(pairs, "\r\n"), comma = strcspn(pairs, ","), unused;
                char shown[128];

                line++;
                if (n > 0 && comma >= n)
                        return diag(reterr, CHANGES_E_PAIRS,
                                    "line %zu: \"%s\" is no pair: two ids with a comma between", line,
                                    diag_quote(pairs, n, shown, sizeof(shown)));
                if (comma < n) {
                        size_t a = changes_find(h, ids, pairs, comma, &unused),
                               b = changes_find(h, ids, pairs + comma + 1, n - comma - 1, &unused);

                        if (a < h->n && b < h->n && a != b) {
                                ChangesRow *later = &h->rows[MAX(a, b)];

                                h->n_notes += later->n_gold == 0;
                                r = changes_add_gold(later, MIN(a, b));
                        }
                }
                pairs += n + (pairs[n] == '\r');
                pairs += *pairs == '\n';
        }
        return r;
}

static size_t changes_line_number(const char *text, size_t at) {
        size_t line = 1;

        for (size_t i = 0; i < at; i++)
                line += text[i] == '\n';
        return line;
}

static int changes_read_rows(char *text, size_t n, const ChangesLayout *layout, const char *pairs, Changes *ret,
                             Diag *reterr) {
        _cleanup_changes_ Changes h = {.text = text};
        _cleanup_(changes_table_deinit) ChangesTable ids = {0};
        _cleanup_(changes_outside_deinit) ChangesOutside outside = {0};
        size_t lines = 1, number = 0, bad;
        int r = 0;

        if (!utf8_valid(text, n, &bad))
                return diag(reterr, CHANGES_E_BAD, "line %zu: byte 0x%02x is not UTF-8", changes_line_number(text, bad),
                            (unsigned char)text[bad]);
        if (strlen(text) != n)
                return diag(reterr, CHANGES_E_BAD, "line %zu has a NUL: this is no text",
                            changes_line_number(text, strlen(text)));
        for (size_t i = 0; i < n; i++)
                lines += text[i] == '\n';
        if (lines > CHANGES_ROWS_MAX)
                return diag(reterr, CHANGES_E_BAD, "more than %d lines", CHANGES_ROWS_MAX);
        h.rows = calloc(lines, sizeof(*h.rows));
        if (!h.rows || changes_table_init(&ids, lines) < 0)
                return -ENOMEM;
        for (char *line = text, *end; *line && r == 0; line = end) {
                size_t length = strcspn(line, "\n");

                end = line + length + (line[length] == '\n');
                line[length] = 0;
                number++;
                if (length > CHANGES_LINE_MAX)
                        return diag(reterr, CHANGES_E_BAD, "line %zu is longer than %d bytes", number,
                                    CHANGES_LINE_MAX);
                if (length > 0 && *line != '#')
                        r = changes_read_line(&h, &ids, layout, line, number, &outside, reterr);
        }
        for (size_t i = 0; r == 0 && i < outside.n; i++) {
                size_t unused;

                if (changes_find(&h, &ids, outside.v[i].id, outside.v[i].n, &unused) != h.n)
                        return diag(reterr, CHANGES_E_BAD,
                                    "line %zu: fixes has \"%.*s\", the id of a later line: ids of earlier lines are "
                                    "allowed",
                                    outside.v[i].line, (int)MIN(outside.v[i].n, (size_t)40), outside.v[i].id);
        }
        h.n_outside = outside.n;
        if (r == 0 && pairs)
                r = changes_read_pairs(&h, &ids, pairs, reterr);
        if (r != 0)
                return r;
        *ret = h;
        h = (Changes){0};
        return 0;
}

/* Eight columns in the first line that is no remark. */
static bool changes_is_wide(const char *text) {
        size_t tabs = 0;

        while (*text == '#' || *text == '\n')
                text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
        for (; *text && *text != '\n'; text++)
                tabs += *text == '\t';
        return tabs + 1 == wide_layout.columns;
}

int changes_read(char *text, size_t n, Changes *ret, Diag *reterr) {
        return changes_read_rows(text, n, changes_is_wide(text) ? &wide_layout : &notes_layout, NULL, ret, reterr);
}

int changes_read_titles(char *text, size_t n, const char *pairs, Changes *ret, Diag *reterr) {
        return changes_read_rows(text, n, &titles_layout, pairs, ret, reterr);
}

void changes_deinit(Changes *h) {
        for (size_t i = 0; i < h->n; i++)
                free(h->rows[i].gold);
        free(h->rows);
        free(h->text);
        *h = (Changes){0};
}

/* Case and white space do not count. */
static bool changes_have_subject(const Changes *h, const char *s, size_t n) {
        const Mention m = {.title = s, .n_title = n};

        for (size_t i = 0; i < h->n; i++)
                if (changes_lower(*h->rows[i].subject) == changes_lower(*s) &&
                    mention_is(&m, "", h->rows[i].subject, strlen(h->rows[i].subject)))
                        return true;
        return false;
}

/* Blanks the names of rows in the note: hashes, and subjects in quotes. */
static void changes_mask(const Changes *h, char *note) {
        size_t n = strlen(note);

        for (size_t i = 0; i < n;) {
                size_t end = i + strspn(note + i, "0123456789abcdef"), quote;

                if (end - i >= MENTION_HASH_LEAST &&
                    (i == 0 || !strchr("_ghijklmnopqrstuvwxyz", changes_lower(note[i - 1]))) &&
                    !strchr("_ghijklmnopqrstuvwxyz", changes_lower(note[end]))) {
                        memset(note + i, ' ', end - i);
                        i = end;
                        continue;
                }
                if (note[i] == '"' && (quote = strcspn(note + i + 1, "\"")) > 0 && note[i + 1 + quote] == '"') {
                        const char *title = note + i + 1;
                        size_t lead = strspn(title, " ");

                        if (lead < quote && changes_have_subject(h, title + lead, quote - lead))
                                memset(note + i, ' ', quote + 2);
                        i += note[i] == ' ' ? quote + 2 : 1;
                        continue;
                }
                i = end > i ? end : i + 1;
        }
}

char *changes_note(const Changes *h, size_t row, NoteText how) {
        return changes_note_of(h, &h->rows[row], how);
}

char *changes_note_of(const Changes *h, const ChangesRow *x, NoteText how) {
        char *made;
        int n;

        if (how == NOTE_PLAIN && x->n_gold > 0)
                n = asprintf(&made, "fixed: %s\n%s\nFixes: %s (\"%s\")", x->subject, x->body, h->rows[x->gold[0]].id,
                             h->rows[x->gold[0]].subject);
        else
                n = asprintf(&made, "fixed: %s\n%s", x->subject, x->body);
        if (n < 0)
                return NULL;
        if (how == NOTE_MASKED)
                changes_mask(h, made);
        return made;
}
