#include "cognition/ccs-text.h"

#include "base/ascii.h"
#include "cognition/ccs-validate.h"

#include <string.h>
#include <strings.h>

static bool ccs_on_one_line(CcsField f) {
        return f == CCS_SEMANTIC_GIST || f == CCS_GOAL_ORIENTATION;
}

#define CCS_IMPLIED "user, " /* the source of a constraint without a source */

static bool ccs_is_source(const char *s) {
        static const char *const sources[] = {"user", "operator", "policy"};
        size_t n = strcspn(s, ",)");

        for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
                if (strlen(sources[i]) == n && memcmp(s, sources[i], n) == 0)
                        return true;
        return false;
}

/* Has the rest of a canonical atom another argument? A comma in quotes separates nothing. */
static bool ccs_has_comma(const char *s) {
        for (bool quoted = false; *s; s++) {
                if (*s == '\\' && s[1])
                        s++;
                else if (*s == '"')
                        quoted = !quoted;
                else if (*s == ',' && !quoted)
                        return true;
        }
        return false;
}

/* The bytes of a canonical atom before the implied source; 0: the text has all of the atom. */
static size_t ccs_before_implied(CcsField f, const char *atom) {
        size_t at = strcspn(atom, "(") + 1;
        const char *rest = atom + at + strlen(CCS_IMPLIED);

        if (f != CCS_CONSTRAINTS || strncmp(atom + at, CCS_IMPLIED, strlen(CCS_IMPLIED)) != 0)
                return 0;
        return ccs_has_comma(rest) || ccs_is_source(rest) ? 0 : at;
}

int ccs_print_atom(CcsField f, const char *atom, Buf *out) {
        size_t at = ccs_before_implied(f, atom);

        return at == 0 ? buf_add_str(out, atom) : buf_add(out, atom, at) ?: buf_add_str(out, atom + at + strlen(CCS_IMPLIED));
}

/* must(words), a single argument: the source is the user. */
static int ccs_imply_source(Atom *a, Diag *reterr) {
        char text[ATOM_MAX + sizeof(CCS_IMPLIED)];
        size_t at = strcspn(a->text, "(") + 1;

        if (atom_n_args(a) != 1 || ccs_is_source(a->text + at))
                return 0;
        snprintf(text, sizeof(text), "%.*s" CCS_IMPLIED "%s", (int)at, a->text, a->text + at);
        return atom_parse(text, strlen(text), a, reterr);
}

int ccs_print(const Ccs *c, Buf *out) {
        int e = 0;

        for (CcsField f = 0; f < CCS_FIELDS && !e; f++) {
                const CcsList *l = &c->field[f];

                e = buf_add_str(out, ccs_field_name(f)) ?: buf_add_str(out, ":");
                for (size_t i = 0; i < l->n && !e; i++)
                        e = buf_add_str(out, !ccs_on_one_line(f) ? "\n "
                                             : i > 0             ? " & "
                                                                 : " ")
                                    ?: ccs_print_atom(f, l->atoms[i], out);
                e = e ?: buf_add_str(out, "\n");
        }
        return e;
}

size_t ccs_tokens(const char *text, size_t n) {
        size_t tokens = 0;
        bool in_run = false;

        for (size_t i = 0; i < n; i++) {
                bool run = ascii_letter(text[i]) || ascii_digit(text[i]) || text[i] == '_';
                bool blank = text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r');

                /* A character beyond ASCII counts at its first byte. */
                tokens += run ? !in_run : !blank && ((unsigned char)text[i] & 0xC0) != 0x80;
                in_run = run;
        }
        return tokens;
}

void ccs_measure(const Ccs *c, size_t *ret_bytes, size_t *ret_tokens) {
        size_t bytes = 0, tokens = 0;

        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                const CcsList *l = &c->field[f];

                bytes += strlen(ccs_field_name(f)) + 2; /* the colon and the line feed */
                tokens += 2;
                for (size_t i = 0; i < l->n; i++) {
                        size_t n = strlen(l->atoms[i]);
                        bool implied = ccs_before_implied(f, l->atoms[i]) > 0;

                        bytes += n + (!ccs_on_one_line(f) ? 2 : i > 0 ? 3 : 1) - (implied ? strlen(CCS_IMPLIED) : 0);
                        tokens += ccs_tokens(l->atoms[i], n) + (ccs_on_one_line(f) && i > 0) - 2 * implied;
                }
        }
        *ret_bytes = bytes;
        *ret_tokens = tokens;
}

typedef struct CcsParser {
        Ccs c;
        unsigned seen;  /* bits of the fields */
        size_t line;    /* from 1 */
        CcsField field; /* CCS_FIELDS: none yet */
        Diag *reterr;
} CcsParser;

static void ccs_parser_deinit(CcsParser *p) {
        ccs_deinit(&p->c);
}

static bool ccs_is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r';
}

static void ccs_trim(const char **s, size_t *n) {
        while (*n > 0 && ccs_is_blank(**s)) {
                ++*s;
                --*n;
        }
        while (*n > 0 && ccs_is_blank((*s)[*n - 1]))
                --*n;
}

static int ccs_refuse(const CcsParser *p, int code, const char *value, size_t n, const char *rule) {
        return diag(p->reterr, code, "line %zu: \"%s\": %s", p->line, DIAG_QUOTED_N(value, n), rule);
}

/* The text of the line behind "field:" or "field[3]:". Returns 1 when the line begins a field, 0, CCS_E_FIELD negated.
 */
static int ccs_parse_field(CcsParser *p, const char **s, size_t *n) {
        size_t name = 0, end;
        CcsField f = 0;

        while (name < *n && (ascii_letter((*s)[name]) || (*s)[name] == '_'))
                name++;
        end = name;
        if (end < *n && (*s)[end] == '[') {
                for (end++; end < *n && ascii_digit((*s)[end]);)
                        end++;
                if (end == *n || (*s)[end++] != ']')
                        return 0;
        }
        while (end < *n && ccs_is_blank((*s)[end]))
                end++;
        if (name == 0 || end == *n || (*s)[end] != ':')
                return 0;
        while (f < CCS_FIELDS && !(strlen(ccs_field_name(f)) == name && strncasecmp(*s, ccs_field_name(f), name) == 0))
                f++;
        if (f == CCS_FIELDS)
                return -ccs_refuse(p, CCS_E_FIELD, *s, name, "no field has this name");
        if (p->seen & 1U << f)
                return -ccs_refuse(p, CCS_E_FIELD, *s, name, "a field stands once");
        p->seen |= 1U << f;
        p->field = f;
        *s += end + 1;
        *n -= end + 1;
        return 1;
}

/* The level stands first, wherever the text has it. */
static void ccs_level_first(CcsList *l) {
        char *level = l->atoms[l->n - 1];

        if (strncmp(l->atoms[0], "level(", strlen("level(")) == 0)
                return;
        memmove(l->atoms + 1, l->atoms, (l->n - 1) * sizeof(*l->atoms));
        l->atoms[0] = level;
}

static int ccs_parse_atoms(CcsParser *p, const char *s, size_t n) {
        Atom a;
        Diag why;

        ccs_trim(&s, &n);
        if ((n == 1 && *s == '-') || (n == 2 && memcmp(s, "[]", 2) == 0) || (n == 4 && memcmp(s, "none", 4) == 0))
                return 0; /* an empty list */
        while (n > 0) {
                size_t at = 0;
                int e;

                if (n > 1 && (*s == '-' || *s == '*') && ccs_is_blank(s[1]))
                        at = 1;
                if (atom_read(s, n, &at, &a, &why) != 0)
                        return diag(p->reterr, CCS_E_SYNTAX, "line %zu: %s: %s", p->line, ccs_field_name(p->field),
                                    why.text);
                if (p->field == CCS_CONSTRAINTS && ccs_imply_source(&a, &why) != 0)
                        return diag(p->reterr, CCS_E_SYNTAX, "line %zu: %s: %s", p->line, ccs_field_name(p->field),
                                    why.text);
                e = ccs_push(&p->c, p->field, &a, p->reterr);
                if (e > 0)
                        diag_prefix(p->reterr, "line %zu", p->line);
                if (e)
                        return e;
                if (p->field == CCS_UNCERTAINTY_SIGNAL && atom_is(&a, "level"))
                        ccs_level_first(&p->c.field[p->field]);
                s += at;
                n -= at;
                ccs_trim(&s, &n);
                if (n > 0 && *s != ';' && *s != '&')
                        return ccs_refuse(p, CCS_E_SYNTAX, s, n, "atoms of a line are joined by & or ;");
                while (n > 0 && (*s == ';' || *s == '&' || ccs_is_blank(*s))) {
                        s++;
                        n--;
                }
        }
        return 0;
}

static int ccs_parse_line(CcsParser *p, const char *s, size_t n) {
        int e;

        ccs_trim(&s, &n);
        if (n == 0 || (n >= 3 && memcmp(s, "```", 3) == 0))
                return 0;
        e = ccs_parse_field(p, &s, &n);
        if (e < 0)
                return -e;
        if (p->field == CCS_FIELDS)
                return ccs_refuse(p, CCS_E_FIELD, s, n, "an atom stands behind the name of its field");
        return ccs_parse_atoms(p, s, n);
}

int ccs_parse(const char *text, size_t n, Ccs *ret, Diag *reterr) {
        _cleanup_(ccs_parser_deinit) CcsParser p = {.field = CCS_FIELDS, .reterr = reterr};

        if (n > CCS_TEXT_MAX)
                return diag(reterr, CCS_E_SYNTAX, "%zu bytes; a state's text has at most %d", n, CCS_TEXT_MAX);
        for (size_t at = 0, end; at < n; at = end + 1) {
                const char *lf = memchr(text + at, '\n', n - at);
                int e;

                end = lf ? (size_t)(lf - text) : n;
                p.line++;
                e = ccs_parse_line(&p, text + at, end - at);
                if (e)
                        return e;
        }
        for (CcsField f = 0; f < CCS_FIELDS; f++)
                if (!(p.seen & 1U << f))
                        return diag(reterr, CCS_E_FIELD, "%s: the field is missing; all nine fields are needed",
                                    ccs_field_name(f));
        *ret = p.c;
        p.c = CCS_NULL;
        return 0;
}
