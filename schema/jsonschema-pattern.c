#include "base/buf.h"
#include "schema/jsonschema-internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The same pattern must mean the same to every reader of a schema. Features of PCRE2 beyond ECMA-262 are refused before
 * PCRE2 sees them (further escapes, options and verbs, atomic groups and possessive quantifiers, recursion, conditions,
 * POSIX classes). Constructs with two readings are rewritten for PCRE2 in ECMA-262's sense. */

/* White space of ECMA-262, and all other characters, as the inside of a class. */
#define SPACE "\\u0009-\\u000D\\u0020\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF"
#define NO_SPACE                                                                                                    \
        "\\u0000-\\u0008\\u000E-\\u001F\\u0021-\\u009F\\u00A1-\\u167F\\u1681-\\u1FFF\\u200B-\\u2027\\u202A-\\u202E" \
        "\\u2030-\\u205E\\u2060-\\u2FFF\\u3001-\\uFEFE\\uFF00-\\u{10FFFF}"
#define NO_LINE_END "[^\\u000A\\u000D\\u2028\\u2029]" /* the dot */

/* General categories by their long names; PCRE2 knows only the short names (Unicode PropertyValueAliases). */
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

typedef struct PatternScan {
        const char *text;
        size_t n, i;
        Buf out; /* the pattern for PCRE2; owned */
        bool in_class;
        unsigned groups, backref_most;
        Diag *reterr;
} PatternScan;

static char pattern_char(const PatternScan *s, size_t offset) {
        return s->i + offset < s->n ? s->text[s->i + offset] : 0;
}

static int pattern_refuse(const PatternScan *s, const char *what) {
        return diag(s->reterr, JSONSCHEMA_E_BAD_KEYWORD,
                    "the pattern has %s at offset %zu, which ECMA-262 does not have", what, s->i);
}

/* Copies the next n bytes. */
static int pattern_copy(PatternScan *s, size_t n) {
        int r = buf_add(&s->out, s->text + s->i, MIN(n, s->n - s->i));

        s->i += n;
        return r;
}

/* Writes `instead` for the next n bytes. */
static int pattern_rewrite(PatternScan *s, size_t n, const char *instead) {
        s->i += n;
        return buf_add_str(&s->out, instead);
}

static size_t pattern_count_hex(const PatternScan *s, size_t offset) {
        size_t n = 0;

        while (isxdigit((unsigned char)pattern_char(s, offset + n)))
                n++;
        return n;
}

/* \p{…} and \P{…}; i stands on the backslash. */
static int pattern_scan_property(PatternScan *s) {
        char name[40];
        size_t n = 3;
        int r;

        if (pattern_char(s, 2) != '{')
                return pattern_refuse(s, "\\p without a brace");
        for (; isalpha((unsigned char)pattern_char(s, n)) || pattern_char(s, n) == '_' || pattern_char(s, n) == '=';
             n++)
                if (n - 3 == sizeof(name) - 1)
                        return pattern_refuse(s, "\\p{ with a long name");
                else
                        name[n - 3] = pattern_char(s, n);
        if (pattern_char(s, n) != '}')
                return pattern_refuse(s, "\\p{ without a name and a brace");
        name[n - 3] = 0;
        for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
                const char *value = strncmp(name, "gc=", 3) == 0                 ? name + 3
                                    : strncmp(name, "General_Category=", 17) == 0 ? name + 17
                                                                                  : name;

                if (strcmp(value, categories[i].name) == 0 ||
                    (value != name && strcmp(value, categories[i].category) == 0)) {
                        r = buf_printf(&s->out, "\\%c{%s}", pattern_char(s, 1), categories[i].category);
                        s->i += n + 1;
                        return r;
                }
        }
        return pattern_copy(s, n + 1);
}

/* i stands on the backslash; moves behind the escape. */
static int pattern_scan_escape(PatternScan *s) {
        char c = pattern_char(s, 1);
        size_t n;

        if (c >= '1' && c <= '9') {
                unsigned number = 0;

                if (s->in_class)
                        return pattern_refuse(s, "a back reference in a class");
                for (n = 1; isdigit((unsigned char)pattern_char(s, n)) && n < 5; n++)
                        number = number * 10 + (unsigned)(pattern_char(s, n) - '0');
                s->backref_most = MAX(s->backref_most, number);
                return pattern_copy(s, n);
        }
        switch (c) {
        case 'x':
                return pattern_count_hex(s, 2) < 2 ? pattern_refuse(s, "\\x without two digits") : pattern_copy(s, 4);
        case 'u':
                n = pattern_count_hex(s, 3);
                if (pattern_char(s, 2) == '{')
                        return n == 0 || n > 6 || pattern_char(s, 3 + n) != '}'
                                       ? pattern_refuse(s, "\\u{ without digits and a brace")
                                       : pattern_copy(s, n + 4);
                return pattern_count_hex(s, 2) < 4 ? pattern_refuse(s, "\\u without four digits") : pattern_copy(s, 6);
        case 'c':
                return isalpha((unsigned char)pattern_char(s, 2)) ? pattern_copy(s, 3)
                                                                  : pattern_refuse(s, "\\c without a letter");
        case 'p':
        case 'P':
                return pattern_scan_property(s);
        case 'k':
                return s->in_class || pattern_char(s, 2) != '<' ? pattern_refuse(s, "\\k without a name")
                                                                : pattern_copy(s, 2);
        case '0':
                return isdigit((unsigned char)pattern_char(s, 2)) ? pattern_refuse(s, "an octal escape")
                                                                  : pattern_rewrite(s, 2, "\\u0000");
        case 'v': /* a single character, where PCRE2 takes all vertical space */
                return pattern_rewrite(s, 2, "\\u000B");
        case 's':
                return pattern_rewrite(s, 2, s->in_class ? SPACE : "[" SPACE "]");
        case 'S':
                return pattern_rewrite(s, 2, s->in_class ? NO_SPACE : "[" NO_SPACE "]");
        default:
                if (c == 0 || !strchr("dDwWbBfnrt^$\\.*+?()[]{}|/-", c) || (c == 'B' && s->in_class))
                        return pattern_refuse(s, "an escape");
                return pattern_copy(s, 2);
        }
}

static int pattern_scan_group(PatternScan *s) {
        char a = pattern_char(s, 1), b = pattern_char(s, 2), c = pattern_char(s, 3);

        if (a == '*')
                return pattern_refuse(s, "a verb");
        if (a == '?' && b != ':' && b != '=' && b != '!' && b != '<')
                return pattern_refuse(s, "a group of another kind");
        s->groups += a != '?' || (b == '<' && c != '=' && c != '!');
        return pattern_copy(s, a == '?' ? 2 : 1); /* this question mark is no quantifier */
}

/* Length of a quantifier at i, or 0. */
static size_t pattern_quantifier(const PatternScan *s) {
        size_t n = 1;

        if (pattern_char(s, 0) == '*' || pattern_char(s, 0) == '+' || pattern_char(s, 0) == '?')
                return 1;
        if (pattern_char(s, 0) != '{' || !isdigit((unsigned char)pattern_char(s, 1)))
                return 0;
        while (isdigit((unsigned char)pattern_char(s, n)))
                n++;
        if (pattern_char(s, n) == ',')
                n++;
        while (isdigit((unsigned char)pattern_char(s, n)))
                n++;
        return pattern_char(s, n) == '}' ? n + 1 : 0;
}

static int pattern_scan(PatternScan *s) {
        int r = 0;

        while (r == 0 && s->i < s->n) {
                char c = pattern_char(s, 0);
                size_t n = s->in_class ? 0 : pattern_quantifier(s);

                if (c == '\\')
                        r = pattern_scan_escape(s);
                else if (s->in_class) {
                        if (c == '[' && pattern_char(s, 1) && strchr(":.=", pattern_char(s, 1)))
                                return pattern_refuse(s, "a POSIX class");
                        s->in_class = c != ']';
                        r = pattern_copy(s, 1);
                } else if (n > 0) {
                        r = pattern_copy(s, n);
                        if (pattern_char(s, 0) == '+')
                                return pattern_refuse(s, "a possessive quantifier");
                } else if (c == '(')
                        r = pattern_scan_group(s);
                else if (c == '.')
                        r = pattern_rewrite(s, 1, NO_LINE_END);
                else {
                        s->in_class = c == '[';
                        r = pattern_copy(s, 1);
                }
        }
        if (r == 0 && s->backref_most > s->groups)
                r = diag(s->reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern refers back to group %u of %u",
                         s->backref_most, s->groups);
        return r;
}

int schema_pattern_compile(const char *text, size_t n, pcre2_code **ret, Diag *reterr) {
        PatternScan s = {.text = text, .n = n, .reterr = reterr};
        pcre2_compile_context *context;
        pcre2_code *code = NULL;
        PCRE2_SIZE where;
        int err = PCRE2_ERROR_NOMEMORY, r;

        if (n > JSONSCHEMA_PATTERN_MAX)
                return diag(reterr, JSONSCHEMA_E_LIMIT, "a pattern of %zu bytes: at most %d are allowed", n,
                            JSONSCHEMA_PATTERN_MAX);
        r = pattern_scan(&s);
        if (r != 0) {
                buf_deinit(&s.out);
                return r;
        }
        context = pcre2_compile_context_create(NULL);
        if (context) {
                pcre2_set_parens_nest_limit(context, 64);
                pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
                /* A match pays for its moves in callouts (schema_pattern_match). */
                code = pcre2_compile((PCRE2_SPTR)(s.out.data ? s.out.data : ""), s.out.n,
                                     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                             PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
                                     &err, &where, context);
                pcre2_compile_context_free(context);
        }
        buf_deinit(&s.out);
        if (!code) {
                unsigned char why[128];

                if (err == PCRE2_ERROR_NOMEMORY || err == 121 /* "failed to allocate heap memory" has no constant */)
                        return -ENOMEM;
                pcre2_get_error_message(err, why, sizeof(why));
                return diag(reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern is not one: %s", (char *)why);
        }
        *ret = code;
        return 0;
}

/* PCRE2's own limit of matches starts anew at each position of the text, and a single counted move may pass over the
 * whole text. A callout before each item of the pattern takes steps for the text within that item's reach, so that
 * the budget bounds the work for any pattern, and by the same amount on each machine. */
static int pattern_pay(pcre2_callout_block *block, void *userdata) {
        return schema_steps_take(userdata, 1 + (block->subject_length - block->current_position) / 64) == 0
                       ? 0
                       : PCRE2_ERROR_CALLOUT;
}

int schema_pattern_match(const pcre2_code *pattern, const char *text, size_t n, SchemaSteps *steps) {
        int r = schema_steps_take(steps, 1 + n / 16);

        if (r != 0)
                return r;
        if (!steps->match) {
                steps->context = pcre2_match_context_create(NULL);
                if (!steps->context)
                        return -ENOMEM;
                pcre2_set_callout(steps->context, pattern_pay, steps);
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
        default: /* text that is not UTF-8, already refused by the parser */
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
