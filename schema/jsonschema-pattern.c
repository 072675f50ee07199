#include "base/buf.h"
#include "schema/jsonschema-internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The same pattern must mean the same to every reader of a schema. What PCRE2 has beyond ECMA-262 is refused before PCRE2 sees it
 * (other escapes, options and verbs, atomic groups and possessive quantifiers, recursion, conditions, POSIX classes), and what the
 * two read differently is written out in the way that PCRE2 reads as ECMA-262 does. */

/* White space and line ends of ECMA-262, and all that is neither, as the inside of a class. */
#define SPACE "\\u0009-\\u000D\\u0020\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF"
#define NO_SPACE                                                                                                       \
        "\\u0000-\\u0008\\u000E-\\u001F\\u0021-\\u009F\\u00A1-\\u167F\\u1681-\\u1FFF\\u200B-\\u2027\\u202A-\\u202E"      \
        "\\u2030-\\u205E\\u2060-\\u2FFF\\u3001-\\uFEFE\\uFF00-\\u{10FFFF}"
#define NO_LINE_END "[^\\u000A\\u000D\\u2028\\u2029]" /* the dot */

/* General categories by their long names, which PCRE2 knows only by the short ones (Unicode PropertyValueAliases). */
static const struct {
        const char *name, *category;
} categories[] = {
        {"Cased_Letter", "L&"},          {"Close_Punctuation", "Pe"},     {"Connector_Punctuation", "Pc"},
        {"Control", "Cc"},               {"Currency_Symbol", "Sc"},       {"Dash_Punctuation", "Pd"},
        {"Decimal_Number", "Nd"},        {"Enclosing_Mark", "Me"},        {"Final_Punctuation", "Pf"},
        {"Format", "Cf"},                {"Initial_Punctuation", "Pi"},   {"Letter", "L"},
        {"Letter_Number", "Nl"},         {"Line_Separator", "Zl"},        {"Lowercase_Letter", "Ll"},
        {"Mark", "M"},                   {"Math_Symbol", "Sm"},           {"Modifier_Letter", "Lm"},
        {"Modifier_Symbol", "Sk"},       {"Nonspacing_Mark", "Mn"},       {"Number", "N"},
        {"Open_Punctuation", "Ps"},      {"Other", "C"},                  {"Other_Letter", "Lo"},
        {"Other_Number", "No"},          {"Other_Punctuation", "Po"},     {"Other_Symbol", "So"},
        {"Paragraph_Separator", "Zp"},   {"Private_Use", "Co"},           {"Punctuation", "P"},
        {"Separator", "Z"},              {"Space_Separator", "Zs"},       {"Spacing_Mark", "Mc"},
        {"Surrogate", "Cs"},             {"Symbol", "S"},                 {"Titlecase_Letter", "Lt"},
        {"Unassigned", "Cn"},            {"Uppercase_Letter", "Lu"},
};

typedef struct Scan {
        const char *text;
        size_t n, i;
        Buf out; /* the pattern for PCRE2; owned */
        bool in_class;
        unsigned groups, backref_most;
        Diag *reterr;
} Scan;

static char at(const Scan *s, size_t offset) {
        return s->i + offset < s->n ? s->text[s->i + offset] : 0;
}

static int refuse(const Scan *s, const char *what) {
        return diag(s->reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern has %s at offset %zu, which ECMA-262 does not have", what, s->i);
}

/* Takes the next n bytes over as they are. */
static int keep(Scan *s, size_t n) {
        int r = buf_add(&s->out, s->text + s->i, MIN(n, s->n - s->i));

        s->i += n;
        return r;
}

/* Writes `instead` for the next n bytes. */
static int rewrite(Scan *s, size_t n, const char *instead) {
        s->i += n;
        return buf_add_str(&s->out, instead);
}

static size_t count_hex(const Scan *s, size_t offset) {
        size_t n = 0;

        while (isxdigit((unsigned char)at(s, offset + n)))
                n++;
        return n;
}

/* \p{…} and \P{…}; i stands on the backslash. */
static int scan_property(Scan *s) {
        char name[40];
        size_t n = 3;
        int r;

        if (at(s, 2) != '{')
                return refuse(s, "\\p without a brace");
        for (; isalpha((unsigned char)at(s, n)) || at(s, n) == '_' || at(s, n) == '='; n++)
                if (n - 3 == sizeof(name) - 1)
                        return refuse(s, "\\p{ with a long name");
                else
                        name[n - 3] = at(s, n);
        if (at(s, n) != '}')
                return refuse(s, "\\p{ without a name and a brace");
        name[n - 3] = 0;
        for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
                const char *value = strncmp(name, "gc=", 3) == 0                 ? name + 3
                                    : strncmp(name, "General_Category=", 17) == 0 ? name + 17
                                                                                  : name;

                if (strcmp(value, categories[i].name) == 0 || (value != name && strcmp(value, categories[i].category) == 0)) {
                        r = buf_printf(&s->out, "\\%c{%s}", at(s, 1), categories[i].category);
                        s->i += n + 1;
                        return r;
                }
        }
        return keep(s, n + 1);
}

/* i stands on the backslash; moves behind the escape. */
static int scan_escape(Scan *s) {
        char c = at(s, 1);
        size_t n;

        if (c >= '1' && c <= '9') {
                unsigned number = 0;

                if (s->in_class)
                        return refuse(s, "a back reference in a class");
                for (n = 1; isdigit((unsigned char)at(s, n)) && n < 5; n++)
                        number = number * 10 + (unsigned)(at(s, n) - '0');
                s->backref_most = MAX(s->backref_most, number);
                return keep(s, n);
        }
        switch (c) {
        case 'x':
                return count_hex(s, 2) < 2 ? refuse(s, "\\x without two digits") : keep(s, 4);
        case 'u':
                n = count_hex(s, 3);
                if (at(s, 2) == '{')
                        return n == 0 || n > 6 || at(s, 3 + n) != '}' ? refuse(s, "\\u{ without digits and a brace") : keep(s, n + 4);
                return count_hex(s, 2) < 4 ? refuse(s, "\\u without four digits") : keep(s, 6);
        case 'c':
                return isalpha((unsigned char)at(s, 2)) ? keep(s, 3) : refuse(s, "\\c without a letter");
        case 'p':
        case 'P':
                return scan_property(s);
        case 'k':
                return s->in_class || at(s, 2) != '<' ? refuse(s, "\\k without a name") : keep(s, 2);
        case '0':
                return isdigit((unsigned char)at(s, 2)) ? refuse(s, "an octal escape") : rewrite(s, 2, "\\u0000");
        case 'v': /* one character, where PCRE2 takes all vertical space */
                return rewrite(s, 2, "\\u000B");
        case 's':
                return rewrite(s, 2, s->in_class ? SPACE : "[" SPACE "]");
        case 'S':
                return rewrite(s, 2, s->in_class ? NO_SPACE : "[" NO_SPACE "]");
        default:
                if (c == 0 || !strchr("dDwWbBfnrt^$\\.*+?()[]{}|/-", c) || (c == 'B' && s->in_class))
                        return refuse(s, "an escape");
                return keep(s, 2);
        }
}

static int scan_group(Scan *s) {
        char a = at(s, 1), b = at(s, 2), c = at(s, 3);

        if (a == '*')
                return refuse(s, "a verb");
        if (a == '?' && b != ':' && b != '=' && b != '!' && b != '<')
                return refuse(s, "a group of another kind");
        s->groups += a != '?' || (b == '<' && c != '=' && c != '!');
        return keep(s, a == '?' ? 2 : 1); /* that question mark is no quantifier */
}

/* Length of a quantifier at i, 0 when there is none. */
static size_t quantifier(const Scan *s) {
        size_t n = 1;

        if (at(s, 0) == '*' || at(s, 0) == '+' || at(s, 0) == '?')
                return 1;
        if (at(s, 0) != '{' || !isdigit((unsigned char)at(s, 1)))
                return 0;
        while (isdigit((unsigned char)at(s, n)))
                n++;
        if (at(s, n) == ',')
                n++;
        while (isdigit((unsigned char)at(s, n)))
                n++;
        return at(s, n) == '}' ? n + 1 : 0;
}

static int scan(Scan *s) {
        int r = 0;

        while (r == 0 && s->i < s->n) {
                char c = at(s, 0);
                size_t n = s->in_class ? 0 : quantifier(s);

                if (c == '\\')
                        r = scan_escape(s);
                else if (s->in_class) {
                        if (c == '[' && at(s, 1) && strchr(":.=", at(s, 1)))
                                return refuse(s, "a POSIX class");
                        s->in_class = c != ']';
                        r = keep(s, 1);
                } else if (n > 0) {
                        r = keep(s, n);
                        if (at(s, 0) == '+')
                                return refuse(s, "a possessive quantifier");
                } else if (c == '(')
                        r = scan_group(s);
                else if (c == '.')
                        r = rewrite(s, 1, NO_LINE_END);
                else {
                        s->in_class = c == '[';
                        r = keep(s, 1);
                }
        }
        if (r == 0 && s->backref_most > s->groups)
                r = diag(s->reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern refers back to group %u of %u", s->backref_most, s->groups);
        return r;
}

int schema_pattern_compile(const char *text, size_t n, pcre2_code **ret, Diag *reterr) {
        Scan s = {.text = text, .n = n, .reterr = reterr};
        pcre2_compile_context *context;
        pcre2_code *code = NULL;
        PCRE2_SIZE where;
        int err = PCRE2_ERROR_NOMEMORY, r;

        if (n > JSONSCHEMA_PATTERN_MAX)
                return diag(reterr, JSONSCHEMA_E_LIMIT, "a pattern of %zu bytes: at most %d are allowed", n, JSONSCHEMA_PATTERN_MAX);
        r = scan(&s);
        if (r != 0) {
                buf_deinit(&s.out);
                return r;
        }
        context = pcre2_compile_context_create(NULL);
        if (context) {
                pcre2_set_parens_nest_limit(context, 64);
                pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
                /* Callouts are how a match pays for its moves (schema_pattern_match). */
                code = pcre2_compile((PCRE2_SPTR)(s.out.data ? s.out.data : ""), s.out.n,
                                     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                             PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
                                     &err, &where, context);
                pcre2_compile_context_free(context);
        }
        buf_deinit(&s.out);
        if (!code) {
                unsigned char why[128];

                if (err == PCRE2_ERROR_NOMEMORY || err == 121 /* "failed to allocate heap memory" has no name */)
                        return -ENOMEM;
                pcre2_get_error_message(err, why, sizeof(why));
                return diag(reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern is not one: %s", (char *)why);
        }
        *ret = code;
        return 0;
}

/* PCRE2's own limit of matches starts anew at each position of the text, and one counted move may pass over all of it. A callout
 * before each item of the pattern takes what that item may look at, so that the work is bounded by the purse whatever the pattern,
 * and by the same amount on each machine. */
static int pay(pcre2_callout_block *block, void *userdata) {
        return schema_steps_take(userdata, 1 + (block->subject_length - block->current_position) / 64) == 0 ? 0 : PCRE2_ERROR_CALLOUT;
}

int schema_pattern_match(const pcre2_code *pattern, const char *text, size_t n, SchemaSteps *steps) {
        int r = schema_steps_take(steps, 1 + n / 16);

        if (r != 0)
                return r;
        if (!steps->match) {
                steps->context = pcre2_match_context_create(NULL);
                if (!steps->context)
                        return -ENOMEM;
                pcre2_set_callout(steps->context, pay, steps);
                pcre2_set_match_limit(steps->context, JSONSCHEMA_STEPS_MAX);
                pcre2_set_heap_limit(steps->context, 16384); /* KiB */
                pcre2_set_depth_limit(steps->context, 65536);
                steps->match = pcre2_match_data_create(1, NULL);
                if (!steps->match)
                        return -ENOMEM;
        }
        r = pcre2_match(pattern, (PCRE2_SPTR)text, n, 0, 0, steps->match, steps->context);
        if (r >= 0)
                return 0;
        switch (r) {
        case PCRE2_ERROR_NOMATCH:
                return JSONSCHEMA_E_INVALID;
        case PCRE2_ERROR_NOMEMORY:
                return -ENOMEM;
        case PCRE2_ERROR_CALLOUT:
        case PCRE2_ERROR_MATCHLIMIT:
        case PCRE2_ERROR_HEAPLIMIT:
        case PCRE2_ERROR_DEPTHLIMIT:
                steps->left = 0;
                return JSONSCHEMA_E_STEPS;
        default: /* text that is not UTF-8, which our parser never lets in */
                return JSONSCHEMA_E_INVALID;
        }
}

int schema_steps_take(SchemaSteps *s, uint64_t n) {
        if (n > s->left) {
                s->left = 0;
                return JSONSCHEMA_E_STEPS;
        }
        s->left -= n;
        return 0;
}

void schema_steps_deinit(SchemaSteps *s) {
        pcre2_match_data_free(s->match);
        pcre2_match_context_free(s->context);
        s->match = NULL;
        s->context = NULL;
}
