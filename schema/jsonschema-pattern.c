#include "schema/jsonschema-internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The same pattern must mean the same to every reader of a schema, so what PCRE2 has beyond ECMA-262 is refused before PCRE2 sees
 * it: other escapes, options and verbs, atomic groups and possessive quantifiers, recursion, conditions, POSIX classes. */

typedef struct Scan {
        const char *text;
        size_t n, i;
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

static size_t count_hex(const Scan *s, size_t offset) {
        size_t n = 0;

        while (isxdigit((unsigned char)at(s, offset + n)))
                n++;
        return n;
}

/* i stands on the backslash; moves behind the escape. */
static int scan_escape(Scan *s) {
        char c = at(s, 1);
        size_t n;

        if (c == 0)
                return refuse(s, "a backslash before nothing");
        if (c >= '1' && c <= '9') {
                unsigned number = 0;

                if (s->in_class)
                        return refuse(s, "a back reference in a class");
                for (n = 1; isdigit((unsigned char)at(s, n)) && n < 5; n++)
                        number = number * 10 + (unsigned)(at(s, n) - '0');
                s->backref_most = MAX(s->backref_most, number);
                s->i += n;
                return 0;
        }
        switch (c) {
        case 'x':
                if (count_hex(s, 2) < 2)
                        return refuse(s, "\\x without two digits");
                s->i += 4;
                return 0;
        case 'u':
                n = count_hex(s, 2);
                if (at(s, 2) == '{') {
                        n = count_hex(s, 3);
                        if (n == 0 || n > 6 || at(s, 3 + n) != '}')
                                return refuse(s, "\\u{ without digits and a brace");
                        s->i += n + 4;
                        return 0;
                }
                if (n < 4)
                        return refuse(s, "\\u without four digits");
                s->i += 6;
                return 0;
        case 'c':
                if (!isalpha((unsigned char)at(s, 2)))
                        return refuse(s, "\\c without a letter");
                s->i += 3;
                return 0;
        case 'p':
        case 'P':
                if (at(s, 2) != '{')
                        return refuse(s, "\\p without a brace");
                for (n = 3; isalpha((unsigned char)at(s, n)) || at(s, n) == '_' || at(s, n) == '='; n++)
                        ;
                if (at(s, n) != '}')
                        return refuse(s, "\\p{ without a name and a brace");
                s->i += n + 1;
                return 0;
        case 'k':
                if (s->in_class || at(s, 2) != '<')
                        return refuse(s, "\\k without a name");
                s->i += 2;
                return 0;
        case '0':
                if (isdigit((unsigned char)at(s, 2)))
                        return refuse(s, "an octal escape");
                s->i += 2;
                return 0;
        default:
                if (!strchr("dDwWsSbBfnrtv^$\\.*+?()[]{}|/-", c))
                        return refuse(s, "an escape");
                if (c == 'B' && s->in_class)
                        return refuse(s, "\\B in a class");
                s->i += 2;
                return 0;
        }
}

static int scan_group(Scan *s) {
        if (at(s, 1) == '*')
                return refuse(s, "a verb");
        if (at(s, 1) != '?') {
                s->groups++;
                return 0;
        }
        if (at(s, 2) == ':' || at(s, 2) == '=' || at(s, 2) == '!')
                return 0;
        if (at(s, 2) == '<' && (at(s, 3) == '=' || at(s, 3) == '!'))
                return 0;
        if (at(s, 2) == '<') {
                s->groups++;
                return 0;
        }
        return refuse(s, "a group of another kind");
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
                size_t n;

                if (c == '\\') {
                        r = scan_escape(s);
                        continue;
                }
                if (s->in_class) {
                        if (c == '[' && at(s, 1) && strchr(":.=", at(s, 1)))
                                return refuse(s, "a POSIX class");
                        s->in_class = c != ']';
                        s->i++;
                        continue;
                }
                n = quantifier(s);
                if (n > 0) {
                        s->i += n;
                        if (at(s, 0) == '+')
                                return refuse(s, "a possessive quantifier");
                        continue;
                }
                if (c == '(') {
                        r = scan_group(s);
                        /* Behind "(?" too: the question mark is no quantifier. */
                        s->i += at(s, 1) == '?' ? 2 : 1;
                        continue;
                }
                s->in_class = c == '[';
                s->i++;
        }
        if (r == 0 && s->backref_most > s->groups)
                r = diag(s->reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern refers back to group %u of %u", s->backref_most, s->groups);
        return r;
}

int schema_pattern_compile(const char *text, size_t n, pcre2_code **ret, Diag *reterr) {
        Scan s = {.text = text, .n = n, .reterr = reterr};
        pcre2_compile_context *context;
        pcre2_code *code;
        PCRE2_SIZE where;
        int err, r;

        if (n > JSONSCHEMA_PATTERN_MAX)
                return diag(reterr, JSONSCHEMA_E_LIMIT, "a pattern of %zu bytes: at most %d are allowed", n, JSONSCHEMA_PATTERN_MAX);
        r = scan(&s);
        if (r != 0)
                return r;
        context = pcre2_compile_context_create(NULL);
        if (!context)
                return -ENOMEM;
        pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF); /* what "." does not match */
        pcre2_set_parens_nest_limit(context, 64);
        pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
        /* Callouts are how a match pays for its moves (schema_pattern_match). */
        code = pcre2_compile((PCRE2_SPTR)text, n,
                             PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                     PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
                             &err, &where, context);
        pcre2_compile_context_free(context);
        if (!code) {
                unsigned char why[128];

                if (err == PCRE2_ERROR_NOMEMORY || err == 121 /* "failed to allocate heap memory" has no name */)
                        return -ENOMEM;
                pcre2_get_error_message(err, why, sizeof(why));
                return diag(reterr, JSONSCHEMA_E_BAD_KEYWORD, "the pattern is not one: %s at offset %zu", (char *)why, where);
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
