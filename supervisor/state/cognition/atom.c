#include "cognition/atom.h"

#include "base/ascii.h"
#include "base/clean.h"

#include <string.h>

/* An atom while it is read. */
typedef struct AtomReader {
        const char *s; /* NULL: the atom is made, not read */
        size_t n, at, begin;
        Atom *a; /* the text grows behind a->n */
        Diag *reterr;
} AtomReader;

/* Classes of the character at s[at]. */
typedef enum AtomClass {
        ATOM_CHAR_END, /* the end of the text or of the line */
        ATOM_CHAR_BLANK,
        ATOM_CHAR_WORD,
        ATOM_CHAR_SIGN,      /* ( ) , " & ; */
        ATOM_CHAR_FORBIDDEN, /* a control character, a mark, no UTF-8 */
} AtomClass;

static bool atom_blank_beyond_ascii(unsigned c) {
        return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000;
}

static AtomClass atom_class(const char *s, size_t n, size_t at, size_t *ret_n) {
        const unsigned char *p = (const unsigned char *)s + at;
        unsigned c;

        *ret_n = 1;
        if (at >= n)
                return ATOM_CHAR_END;
        if (*p < 0x80) {
                if (*p == '\n')
                        return ATOM_CHAR_END;
                if (*p == ' ' || *p == '\t' || *p == '\r')
                        return ATOM_CHAR_BLANK;
                if (*p < 0x20 || *p == 0x7F)
                        return ATOM_CHAR_FORBIDDEN;
                return strchr("(),\"&;", *p) ? ATOM_CHAR_SIGN : ATOM_CHAR_WORD;
        }
        *ret_n = utf8_step(p, n - at);
        if (*ret_n == 0) {
                *ret_n = 1;
                return ATOM_CHAR_FORBIDDEN;
        }
        c = utf8_decode(p, n - at, ret_n);
        if (c < 0xA0 || utf8_is_mark(c))
                return ATOM_CHAR_FORBIDDEN;
        return atom_blank_beyond_ascii(c) ? ATOM_CHAR_BLANK : ATOM_CHAR_WORD;
}

static int atom_refuse(const AtomReader *r, int code, const char *rule) {
        size_t n;
        const char *line, *lf;

        if (!r->s || !r->reterr)
                return code;
        line = r->s + r->begin;
        lf = memchr(line, '\n', r->n - r->begin);
        n = lf ? (size_t)(lf - line) : r->n - r->begin;
        return diag(r->reterr, code, "\"%s\", byte %zu: %s", DIAG_QUOTED_N(line, n), r->at - r->begin + 1, rule);
}

static int atom_put(AtomReader *r, const char *s, size_t n) {
        if (n > ATOM_MAX - r->a->n)
                return atom_refuse(r, ATOM_E_LONG, "an atom has at most 96 bytes");
        memcpy(r->a->text + r->a->n, s, n);
        r->a->n += n;
        return 0;
}

/* Writes a part behind what separates the part from the one before. */
static int atom_put_part(AtomReader *r, AtomPartKind kind, unsigned depth, unsigned arg, const char *s, size_t n) {
        Atom *a = r->a;
        char last = a->n > 0 ? a->text[a->n - 1] : '(';
        int e = last == '(' || (last == ' ' && a->text[a->n - 2] == ',') ? 0 : atom_put(r, " ", 1);

        if (!e && kind == ATOM_STRING)
                e = atom_put(r, "\"", 1);
        if (!e && a->n_parts == ATOM_PARTS_MAX)
                return atom_refuse(r, ATOM_E_LONG, "an atom has at most 48 parts");
        if (!e) {
                a->parts[a->n_parts] =
                        (AtomPart){.kind = kind, .depth = depth, .arg = arg, .at = a->n, .n = MIN(n, (size_t)ATOM_MAX)};
                e = atom_put(r, s, n);
                a->n_parts += e == 0;
        }
        return e ?: kind == ATOM_STRING ? atom_put(r, "\"", 1) : 0;
}

static void atom_skip(AtomReader *r) {
        size_t n;

        while (atom_class(r->s, r->n, r->at, &n) == ATOM_CHAR_BLANK)
                r->at += n;
}

/* Words with single blanks between, not escaped. */
typedef struct AtomPlain {
        char text[ATOM_MAX + 1];
        size_t n;
        bool signs; /* quotes are needed */
        bool blank; /* a blank waits for the next character */
        bool full;
} AtomPlain;

static void atom_plain_add(AtomPlain *t, const char *s, size_t n, AtomClass class) {
        bool blank = t->blank && t->n > 0;

        if (class == ATOM_CHAR_BLANK) {
                t->blank = true;
                return;
        }
        if (t->n + n + blank > ATOM_MAX) {
                t->full = true;
                return;
        }
        if (blank)
                t->text[t->n++] = ' ';
        t->blank = false;
        memcpy(t->text + t->n, s, n);
        t->n += n;
        t->signs = t->signs || class == ATOM_CHAR_SIGN;
}

/* A part in quotes, or each word for itself where no quotes are needed. */
static int atom_put_plain(AtomReader *r, unsigned depth, unsigned arg, const AtomPlain *t) {
        char escaped[2 * ATOM_MAX];
        size_t n = 0;
        int e = 0;

        if (t->full)
                return atom_refuse(r, ATOM_E_LONG, "an atom has at most 96 bytes");
        for (size_t at = 0, end; !t->signs && !e && at < t->n; at = end + 1) {
                const char *blank = memchr(t->text + at, ' ', t->n - at);

                end = blank ? (size_t)(blank - t->text) : t->n;
                e = atom_put_part(r, ATOM_WORD, depth, arg, t->text + at, end - at);
        }
        if (!t->signs)
                return e;
        for (size_t i = 0; i < t->n; i++) {
                if (t->text[i] == '"' || t->text[i] == '\\')
                        escaped[n++] = '\\';
                escaped[n++] = t->text[i];
        }
        return atom_put_part(r, ATOM_STRING, depth, arg, escaped, n);
}

static int atom_read_string(AtomReader *r, unsigned depth, unsigned arg) {
        AtomPlain t = {};
        size_t n;

        for (r->at++;; r->at += n) {
                AtomClass class = atom_class(r->s, r->n, r->at, &n);

                if (class == ATOM_CHAR_END)
                        return atom_refuse(r, ATOM_E_SYNTAX, "a quoted string ends on its line");
                if (class == ATOM_CHAR_FORBIDDEN)
                        return atom_refuse(r, ATOM_E_SYNTAX, "a control character, a mark, or no UTF-8");
                if (r->s[r->at] == '"')
                        break;
                if (r->s[r->at] == '\\' && r->at + 1 < r->n && (r->s[r->at + 1] == '"' || r->s[r->at + 1] == '\\')) {
                        r->at++;
                        class = r->s[r->at] == '"' ? ATOM_CHAR_SIGN : ATOM_CHAR_WORD;
                }
                atom_plain_add(&t, r->s + r->at, n, class);
        }
        r->at++;
        return t.n == 0 && !t.full ? atom_refuse(r, ATOM_E_SYNTAX, "a quoted string has a word")
                                   : atom_put_plain(r, depth, arg, &t);
}

/* The length of the name that begins s; 0: none. */
static size_t atom_name_length(const char *s, size_t n) {
        size_t i = 0;

        if (n == 0 || *s < 'a' || *s > 'z')
                return 0;
        while (i < n && ((s[i] >= 'a' && s[i] <= 'z') || ascii_digit(s[i]) || s[i] == '_'))
                i++;
        return i;
}

static int atom_read_one(AtomReader *r, unsigned depth, unsigned arg);

/* A word, or an atom inside. */
static int atom_read_word(AtomReader *r, unsigned depth, unsigned arg) {
        size_t from = r->at, n;

        while (atom_class(r->s, r->n, r->at, &n) == ATOM_CHAR_WORD)
                r->at += n;
        if (r->at < r->n && r->s[r->at] == '(') {
                r->at = from;
                return atom_read_one(r, depth, arg);
        }
        return atom_put_part(r, ATOM_WORD, depth, arg, r->s + from, r->at - from);
}

/* The arguments up to the ')' and that. */
static int atom_read_args(AtomReader *r, unsigned depth) {
        unsigned arg = 0;
        size_t n, parts = r->a->n_parts; /* before the argument that is read */
        int e = 0;

        while (!e) {
                atom_skip(r);
                switch (atom_class(r->s, r->n, r->at, &n)) {
                case ATOM_CHAR_END: return atom_refuse(r, ATOM_E_SYNTAX, "')' is missing at the end of the line");
                case ATOM_CHAR_WORD: e = atom_read_word(r, depth, arg); continue;
                case ATOM_CHAR_SIGN: break;
                case ATOM_CHAR_BLANK:
                case ATOM_CHAR_FORBIDDEN:
                        return atom_refuse(r, ATOM_E_SYNTAX, "a control character, a mark, or no UTF-8");
                }
                if (r->s[r->at] == '"') {
                        e = atom_read_string(r, depth, arg);
                        continue;
                }
                if (r->s[r->at] != ',' && r->s[r->at] != ')')
                        return atom_refuse(r, ATOM_E_SYNTAX, "( & ; stand in a quoted string only");
                if (r->a->n_parts == parts)
                        return atom_refuse(r, ATOM_E_SYNTAX, "an argument has at least one word");
                if (r->s[r->at++] == ')')
                        return atom_put(r, ")", 1);
                e = atom_put(r, ", ", 2);
                parts = r->a->n_parts;
                arg++;
        }
        return e;
}

static int atom_read_one(AtomReader *r, unsigned depth, unsigned arg) {
        size_t n = atom_name_length(r->s + r->at, r->n - r->at);

        if (n == 0 || r->at + n == r->n || r->s[r->at + n] != '(')
                return atom_refuse(r, ATOM_E_SYNTAX, "an atom is name(argument, ...), a name is [a-z][a-z0-9_]{0,31}");
        if (n > ATOM_NAME_MAX)
                return atom_refuse(r, ATOM_E_LONG, "a name has at most 32 characters");
        if (depth == ATOM_DEPTH_MAX)
                return atom_refuse(r, ATOM_E_DEPTH, "atoms are nested at most 3 deep");
        n = r->at + n;
        return atom_put_part(r, ATOM_NESTED, depth, arg, r->s + r->at, n - r->at) ?: atom_put(r, "(", 1) ?:
               (r->at = n + 1, atom_read_args(r, depth + 1));
}

/* Joiners and variation selectors are allowed where a record's text may have them, and nowhere else. */
static bool atom_is_clean(const Atom *a) {
        return clean_check("atom", a->text, a->n, true, NULL) == 0;
}

int atom_read(const char *text, size_t n, size_t *at, Atom *ret, Diag *reterr) {
        AtomReader r = {.s = text, .n = n, .at = *at, .a = ret, .reterr = reterr};
        int e;

        ret->n = ret->n_parts = 0;
        while (r.at < n && ascii_blank(text[r.at]))
                r.at++;
        r.begin = r.at;
        e = atom_read_one(&r, 0, 0);
        ret->text[ret->n] = '\0';
        if (!e && !atom_is_clean(ret))
                e = atom_refuse(&r, ATOM_E_SYNTAX, "the atom has a character that cannot be seen");
        if (!e)
                *at = r.at;
        return e;
}

int atom_parse(const char *text, size_t n, Atom *ret, Diag *reterr) {
        size_t at = 0;
        int e = atom_read(text, n, &at, ret, reterr);

        while (!e && at < n && ascii_blank(text[at]))
                at++;
        if (!e && at < n)
                return diag(reterr, ATOM_E_SYNTAX, "\"%s\": text follows an atom's last ')'", DIAG_QUOTED_N(text, n));
        return e;
}

int atom_make(const char *name, const char *const *args, size_t n_args, Atom *ret) {
        AtomReader r = {.a = ret};
        size_t n_name = strlen(name), n;
        unsigned arg = 0;
        int e;

        ret->n = ret->n_parts = 0;
        if (n_name == 0 || atom_name_length(name, n_name) != n_name)
                return ATOM_E_SYNTAX;
        if (n_name > ATOM_NAME_MAX)
                return ATOM_E_LONG;
        e = atom_put_part(&r, ATOM_NESTED, 0, 0, name, n_name) ?: atom_put(&r, "(", 1);
        for (size_t i = 0; i < n_args && !e; i++) {
                AtomPlain t = {};

                for (size_t at = 0, all = strlen(args[i]); at < all; at += n) {
                        AtomClass class = atom_class(args[i], all, at, &n);

                        if (class == ATOM_CHAR_END || class == ATOM_CHAR_FORBIDDEN)
                                class = ATOM_CHAR_BLANK;
                        atom_plain_add(&t, args[i] + at, n, class);
                }
                if (t.n == 0 && !t.full)
                        continue;
                e = (arg > 0 ? atom_put(&r, ", ", 2) : 0) ?: atom_put_plain(&r, 1, arg, &t);
                arg++;
        }
        e = e ?: arg == 0 ? ATOM_E_SYNTAX : atom_put(&r, ")", 1);
        ret->text[ret->n] = '\0';
        return e ?: atom_is_clean(ret) ? 0 : ATOM_E_SYNTAX;
}

int atom_wrap(const char *name, const Atom *inner, Atom *ret) {
        char text[ATOM_NAME_MAX + ATOM_MAX + 3];
        int n = snprintf(text, sizeof(text), "%s(%s)", name, inner->text);

        return n < 0 || (size_t)n >= sizeof(text) ? ATOM_E_LONG : atom_parse(text, n, ret, NULL);
}

bool atom_is(const Atom *a, const char *name) {
        return strlen(name) == a->parts[0].n && memcmp(a->text, name, a->parts[0].n) == 0;
}

size_t atom_n_args(const Atom *a) {
        size_t n = 0;

        for (size_t i = 1; i < a->n_parts; i++)
                n = a->parts[i].depth == 1 ? (size_t)a->parts[i].arg + 1 : n;
        return n;
}

/* The first part of argument i, and the first part behind. */
static bool atom_arg_parts(const Atom *a, size_t i, size_t *ret_from, size_t *ret_end) {
        size_t from = 1, end;

        while (from < a->n_parts && !(a->parts[from].depth == 1 && a->parts[from].arg == i))
                from++;
        for (end = from; end < a->n_parts && (a->parts[end].depth > 1 || a->parts[end].arg == i);)
                end++;
        *ret_from = from;
        *ret_end = end;
        return from < a->n_parts;
}

bool atom_arg(const Atom *a, size_t i, const char **ret, size_t *ret_n) {
        size_t from, end, at, behind;

        if (!atom_arg_parts(a, i, &from, &end))
                return false;
        at = a->parts[from].at - (a->parts[from].kind == ATOM_STRING);
        behind = end == a->n_parts ? a->n - 1 : a->parts[end].at - (a->parts[end].kind == ATOM_STRING) - 2U;
        *ret = a->text + at;
        *ret_n = behind - at;
        return true;
}

bool atom_arg_is(const Atom *a, size_t i, const char *word) {
        size_t from, end;

        return atom_arg_parts(a, i, &from, &end) && end == from + 1 && a->parts[from].kind == ATOM_WORD &&
               strlen(word) == a->parts[from].n && memcmp(a->text + a->parts[from].at, word, a->parts[from].n) == 0;
}

size_t atom_part_text(const Atom *a, size_t part, char ret[static ATOM_MAX + 1]) {
        const AtomPart *p = &a->parts[part];
        size_t n = 0;

        for (size_t i = 0; i < p->n; i++) {
                if (p->kind == ATOM_STRING && a->text[p->at + i] == '\\')
                        i++;
                ret[n++] = a->text[p->at + i];
        }
        ret[n] = '\0';
        return n;
}
