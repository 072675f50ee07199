#include "memory/query.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct Reader {
        const char *text;
        size_t n, at;
        bool search;
        uint64_t now;
        Diag *reterr;
        char value[QUERY_BYTES_MAX]; /* of a quotation, without its backslashes */
        size_t n_value;
} Reader;

/* A word that was read, or what stands in quotes. */
enum { FIELD_WORDS, FIELD_PHRASES };

void query_deinit(Query *q) {
        while (q->n_phrases > 0)
                free(q->phrases[--q->n_phrases]);
        tokenizer_free(q->bag);
        *q = QUERY_NULL;
}

/* Places are counted in characters, from 1. */
static size_t place(const Reader *p, size_t at) {
        size_t n = 1;

        for (size_t i = 0; i < at; i++)
                n += ((unsigned char)p->text[i] & 0xC0) != 0x80;
        return n;
}

#define bad(p, from, ...) (diag((p)->reterr, QUERY_E_BAD, __VA_ARGS__), diag_prefix((p)->reterr, "at character %zu", place((p), (from))), QUERY_E_BAD)

static bool is_space(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int check_bytes(const Reader *p) {
        size_t i;

        if (p->n > QUERY_BYTES_MAX)
                return diag(p->reterr, QUERY_E_BAD, "%zu bytes: at most %d are allowed", p->n, QUERY_BYTES_MAX);
        if (!utf8_valid(p->text, p->n, &i))
                return bad(p, i, "a byte that is not UTF-8");
        for (i = 0; i < p->n; i++)
                if (((unsigned char)p->text[i] < 0x20 && !is_space(p->text[i])) || p->text[i] == 0x7F)
                        return bad(p, i, "a control character");
        return 0;
}

/* From the quote on; what follows must be a space or the end. */
static int read_quoted(Reader *p) {
        size_t from = p->at++;

        for (p->n_value = 0; p->at < p->n && p->text[p->at] != '"'; p->at++) {
                if (p->text[p->at] == '\\') {
                        if (p->at + 1 == p->n)
                                break;
                        if (p->text[p->at + 1] != '"' && p->text[p->at + 1] != '\\')
                                return bad(p, p->at, "a backslash stands only before a quote or a backslash");
                        p->at++;
                }
                p->value[p->n_value++] = p->text[p->at];
        }
        if (p->at >= p->n || p->text[p->at] != '"')
                return bad(p, from, "a quote that is not closed");
        p->at++;
        if (p->at < p->n && !is_space(p->text[p->at]))
                return bad(p, p->at, "a space is missing after the closing quote");
        return 0;
}

/* The end of what has no space in it. */
static size_t token_end(const Reader *p, size_t from) {
        while (from < p->n && !is_space(p->text[from]))
                from++;
        return from;
}

/* Behind a name at the start of a token: the operator, or NULL when the token is no field. */
static const char *operator_at(const Reader *p, size_t at) {
        static const char *const operators[] = {">=", "<=", ":", ">", "<", "="};

        for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
                if (p->n - at >= strlen(operators[i]) && memcmp(p->text + at, operators[i], strlen(operators[i])) == 0)
                        return operators[i];
        return NULL;
}

static int read_field(Reader *p, size_t n_name, const char *op, RecordFilter *f) {
        size_t from = p->at;
        const char *name = p->text + from, *value;
        int r;

        if (strcmp(op, "=") == 0)
                return bad(p, from + n_name, "a field is written NAME:VALUE; text with = in it stands in quotes");
        p->at += n_name + strlen(op);
        if (filter_has_field(name, n_name) && p->at < p->n && p->text[p->at] == '"') {
                r = read_quoted(p);
                if (r != 0)
                        return r;
                value = p->value;
        } else {
                size_t end = token_end(p, p->at);

                value = p->text + p->at;
                p->n_value = end - p->at;
                p->at = end;
        }
        r = filter_add(f, name, n_name, op, value, p->n_value, p->search, p->now, p->reterr);
        if (r > 0)
                diag_prefix(p->reterr, "at character %zu", place(p, from));
        return r > 0 ? QUERY_E_BAD : r;
}

static int read_phrase(Reader *p, Query *q) {
        size_t from = p->at, words;
        char *copy;
        int r = read_quoted(p);

        if (r != 0)
                return r;
        words = tokenizer_phrase_words(p->value, p->n_value);
        if (words == 0 || words > TERMS_PHRASE_MAX)
                return bad(p, from, "a phrase of %zu words: from 1 to %d are allowed", words, TERMS_PHRASE_MAX);
        if (q->n_phrases == QUERY_PHRASES_MAX)
                return bad(p, from, "more than %d phrases", QUERY_PHRASES_MAX);
        copy = strndup(p->value, p->n_value);
        if (!copy)
                return -ENOMEM;
        q->phrases[q->n_phrases++] = copy;
        for (size_t at = 0; r == 0;) {
                Word w;

                /* Read word by word: what joins them in the query need not join them in the text. */
                if (!word_next(p->value, p->n_value, &at, &w))
                        break;
                r = tokenizer_add(q->bag, FIELD_PHRASES, w.p, w.n);
        }
        return r;
}

static bool is_operator(const char *s, size_t n) {
        return (n == 3 && (memcmp(s, "AND", 3) == 0 || memcmp(s, "NOT", 3) == 0)) || (n == 2 && memcmp(s, "OR", 2) == 0);
}

static int read_word(Reader *p, Query *q) {
        size_t from = p->at, end = token_end(p, from), n = end - from;
        const char *s = p->text + from, *quote = memchr(s, '"', n);

        if (quote)
                return bad(p, (size_t)(quote - p->text), "a quote begins a phrase, and stands after a space");
        if (is_operator(s, n))
                return bad(p, from, "%.*s is no operator here: any of the words is enough; as a word it stands in quotes", (int)n, s);
        if (memchr(s, '*', n))
                return bad(p, (size_t)((const char *)memchr(s, '*', n) - p->text), "* is no operator here: words are found by their stems; as text it stands in quotes");
        if ((*s == '-' || *s == '+') && tokenizer_phrase_words(s, n) > 0)
                return bad(p, from, "%c is no operator here: a phrase in quotes must be there, and nothing can be excluded; as text it stands in quotes", *s);
        p->at = end;
        return tokenizer_add(q->bag, FIELD_WORDS, s, n);
}

/* q: NULL: only fields are taken. */
static int read_all(Reader *p, RecordFilter *f, Query *q) {
        int r = check_bytes(p);

        while (r == 0) {
                size_t n_name = 0;
                const char *op;

                while (p->at < p->n && is_space(p->text[p->at]))
                        p->at++;
                if (p->at == p->n)
                        return 0;
                while (p->at + n_name < p->n && is_letter(p->text[p->at + n_name]))
                        n_name++;
                op = n_name > 0 ? operator_at(p, p->at + n_name) : NULL;
                if (op)
                        r = read_field(p, n_name, op, f);
                else if (!q)
                        r = bad(p, p->at, "a list takes fields (" FILTER_FIELDS "), and words are for a search");
                else
                        r = p->text[p->at] == '"' ? read_phrase(p, q) : read_word(p, q);
        }
        return r;
}

/* Each term once: it must be there when any phrase has it. */
static int take_terms(Query *q, Diag *reterr) {
        size_t n;
        const Term *t = tokenizer_sorted(q->bag, &n);

        if (!t)
                return -ENOMEM;
        /* Those of phrases come last: first is then what both have. */
        for (size_t i = n; i-- > 0;) {
                bool known = false;

                for (size_t k = 0; k < q->n_terms && !known; k++)
                        known = q->terms[k].n == t[i].n && memcmp(q->terms[k].p, t[i].p, t[i].n) == 0;
                if (known)
                        continue;
                if (q->n_terms == RANK_TERMS_MAX)
                        return diag(reterr, QUERY_E_BAD, "more than %d words and their parts", RANK_TERMS_MAX);
                q->terms[q->n_terms++] = (RankTerm){.p = t[i].p, .n = t[i].n, .must = t[i].field == FIELD_PHRASES};
        }
        return 0;
}

int query_limit(uint64_t said, unsigned *ret, Diag *reterr) {
        if (said < 1 || said > QUERY_LIMIT_MAX)
                return diag(reterr, QUERY_E_BAD, "limit %" PRIu64 ": must be from 1 to %d", said, QUERY_LIMIT_MAX);
        *ret = (unsigned)said;
        return 0;
}

/* Before the rule stands what was written, and what for. */
static int refused(const char *what, const char *text, size_t n, int r, Diag *reterr) {
        char quoted[400];

        if (r > 0)
                diag_prefix(reterr, "%s \"%s\"", what, diag_quote(text, n, quoted, sizeof(quoted)));
        return r;
}

int query_parse(const char *text, size_t n, uint64_t limit, uint64_t now_usec, Query *ret, Diag *reterr) {
        Reader p = {.text = text, .n = n, .search = true, .now = now_usec, .reterr = reterr};
        _cleanup_query_ Query q = {.limit = QUERY_LIMIT_STANDARD};
        int r = limit ? query_limit(limit, &q.limit, reterr) : 0;

        if (r != 0)
                return r;
        r = tokenizer_new(&q.bag);
        if (r == 0)
                r = read_all(&p, &q.filter, &q);
        if (r == 0)
                r = take_terms(&q, reterr);
        if (r == 0 && q.n_terms == 0 && !q.filter.said)
                r = diag(reterr, QUERY_E_EMPTY, "an empty query: it needs a word, a phrase in quotes, or a field such as kind:memory");
        if (r != 0)
                return refused("query", text, n, r, reterr);
        *ret = q;
        q = QUERY_NULL;
        return 0;
}

int filter_parse(const char *text, size_t n, uint64_t now_usec, RecordFilter *ret, Diag *reterr) {
        Reader p = {.text = text, .n = n, .now = now_usec, .reterr = reterr};
        RecordFilter f = {0};
        int r = read_all(&p, &f, NULL);

        if (r != 0)
                return refused("filter", text, n, r, reterr);
        *ret = f;
        return 0;
}

bool query_phrases_in(const Query *q, const char *const *texts, const size_t *lengths, size_t n) {
        for (size_t i = 0; i < q->n_phrases; i++) {
                bool in = false;

                for (size_t k = 0; k < n && !in; k++)
                        in = tokenizer_have_phrase(texts[k], lengths[k], q->phrases[i], strlen(q->phrases[i]));
                if (!in)
                        return false;
        }
        return true;
}
