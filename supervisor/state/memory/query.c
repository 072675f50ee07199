#include "memory/query.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct QueryReader {
        const char *text;
        size_t n, at;
        bool search;
        uint64_t now;
        Diag *reterr;
        char value[QUERY_BYTES_MAX]; /* of a quotation, without the backslashes */
        size_t n_value;
} QueryReader;

/* Fields of the bag: words of the query, and words of phrases. */
enum { FIELD_WORDS, FIELD_PHRASES };

void query_deinit(MemoryQuery *q) {
        while (q->n_phrases > 0)
                free(q->phrases[--q->n_phrases]);
        tokenizer_free(q->bag);
        *q = QUERY_NULL;
}

/* Places are counted in characters, from 1. */
static size_t query_place(const QueryReader *p, size_t at) {
        size_t n = 1;

        for (size_t i = 0; i < at; i++)
                n += ((unsigned char)p->text[i] & 0xC0) != 0x80;
        return n;
}

#define query_bad(p, from, ...)                                                            \
        (diag((p)->reterr, QUERY_E_BAD, __VA_ARGS__),                                      \
         diag_prefix((p)->reterr, "at character %zu", query_place((p), (from))), QUERY_E_BAD)

static bool query_is_space(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool query_is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int query_check_bytes(const QueryReader *p) {
        size_t i;

        if (p->n > QUERY_BYTES_MAX)
                return diag(p->reterr, QUERY_E_BAD, "%zu bytes: at most %d are allowed", p->n, QUERY_BYTES_MAX);
        if (!utf8_valid(p->text, p->n, &i))
                return query_bad(p, i, "a byte that is not UTF-8");
        for (i = 0; i < p->n; i++)
                if (((unsigned char)p->text[i] < 0x20 && !query_is_space(p->text[i])) || p->text[i] == 0x7F)
                        return query_bad(p, i, "a control character");
        return 0;
}

/* Reads from the opening quote on. After the closing quote a space or the end must follow. */
static int query_read_quoted(QueryReader *p) {
        size_t from = p->at++;

        for (p->n_value = 0; p->at < p->n && p->text[p->at] != '"'; p->at++) {
                if (p->text[p->at] == '\\') {
                        if (p->at + 1 == p->n)
                                break;
                        if (p->text[p->at + 1] != '"' && p->text[p->at + 1] != '\\')
                                return query_bad(p, p->at, "a backslash stands only before a quote or a backslash");
                        p->at++;
                }
                p->value[p->n_value++] = p->text[p->at];
        }
        if (p->at >= p->n || p->text[p->at] != '"')
                return query_bad(p, from, "a quote that is not closed");
        p->at++;
        if (p->at < p->n && !query_is_space(p->text[p->at]))
                return query_bad(p, p->at, "a space is missing after the closing quote");
        return 0;
}

/* The end of the run without a space. */
static size_t query_token_end(const QueryReader *p, size_t from) {
        while (from < p->n && !query_is_space(p->text[from]))
                from++;
        return from;
}

/* The operator behind a name at the start of a token, or NULL when the token is no field. */
static const char *query_operator(const QueryReader *p, size_t at) {
        static const char *const operators[] = {">=", "<=", ":", ">", "<", "="};

        for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
                if (p->n - at >= strlen(operators[i]) && memcmp(p->text + at, operators[i], strlen(operators[i])) == 0)
                        return operators[i];
        return NULL;
}

static int query_read_field(QueryReader *p, size_t n_name, const char *op, RecordFilter *f) {
        size_t from = p->at;
        const char *name = p->text + from, *value;
        int r;

        if (strcmp(op, "=") == 0)
                return query_bad(p, from + n_name, "a field is written NAME:VALUE; write a text with = in quotes");
        p->at += n_name + strlen(op);
        if (filter_has_field(name, n_name) && p->at < p->n && p->text[p->at] == '"') {
                r = query_read_quoted(p);
                if (r != 0)
                        return r;
                value = p->value;
        } else {
                size_t end = query_token_end(p, p->at);

                value = p->text + p->at;
                p->n_value = end - p->at;
                p->at = end;
        }
        r = filter_add(f, name, n_name, op, value, p->n_value, p->search, p->now, p->reterr);
        if (r > 0)
                diag_prefix(p->reterr, "at character %zu", query_place(p, from));
        return r > 0 ? QUERY_E_BAD : r;
}

static int query_read_phrase(QueryReader *p, MemoryQuery *q) {
        size_t from = p->at, words;
        char *copy;
        int r = query_read_quoted(p);

        if (r != 0)
                return r;
        words = tokenizer_phrase_words(p->value, p->n_value);
        if (words == 0 || words > TERMS_PHRASE_MAX)
                return query_bad(p, from, "a phrase of %zu words: from 1 to %d are allowed", words, TERMS_PHRASE_MAX);
        if (q->n_phrases == QUERY_PHRASES_MAX)
                return query_bad(p, from, "more than %d phrases", QUERY_PHRASES_MAX);
        copy = strndup(p->value, p->n_value);
        if (!copy)
                return -ENOMEM;
        q->phrases[q->n_phrases++] = copy;
        for (size_t at = 0; r == 0;) {
                Word w;

                /* Word by word: characters that join words in the query need not join them in the text. */
                if (!word_next(p->value, p->n_value, &at, &w))
                        break;
                r = tokenizer_add(q->bag, FIELD_PHRASES, w.p, w.n);
        }
        return r;
}

static bool query_is_operator_word(const char *s, size_t n) {
        return (n == 3 && (memcmp(s, "AND", 3) == 0 || memcmp(s, "NOT", 3) == 0)) ||
               (n == 2 && memcmp(s, "OR", 2) == 0);
}

static int query_read_word(QueryReader *p, MemoryQuery *q) {
        size_t from = p->at, end = query_token_end(p, from), n = end - from;
        const char *s = p->text + from, *quote = memchr(s, '"', n);

        if (quote)
                return query_bad(p, (size_t)(quote - p->text), "a quote begins a phrase, and stands after a space");
        if (query_is_operator_word(s, n))
                return query_bad(p, from,
                           "%.*s is no operator here: any of the words is enough; as a word it stands in quotes",
                           (int)n, s);
        if (memchr(s, '*', n))
                return query_bad(p, (size_t)((const char *)memchr(s, '*', n) - p->text),
                           "* is no operator here: words are found by their stems; as text it stands in quotes");
        if ((*s == '-' || *s == '+') && tokenizer_phrase_words(s, n) > 0)
                return query_bad(p, from,
                           "%c is no operator here: a phrase in quotes must be there, and nothing can be excluded; as "
                           "text it stands in quotes",
                           *s);
        p->at = end;
        return tokenizer_add(q->bag, FIELD_WORDS, s, n);
}

/* q: NULL: the text may have fields only. */
static int query_read_all(QueryReader *p, RecordFilter *f, MemoryQuery *q) {
        int r = query_check_bytes(p);

        while (r == 0) {
                size_t n_name = 0;
                const char *op;

                while (p->at < p->n && query_is_space(p->text[p->at]))
                        p->at++;
                if (p->at == p->n)
                        return 0;
                while (p->at + n_name < p->n && query_is_letter(p->text[p->at + n_name]))
                        n_name++;
                op = n_name > 0 ? query_operator(p, p->at + n_name) : NULL;
                if (op)
                        r = query_read_field(p, n_name, op, f);
                else if (!q)
                        r = query_bad(p, p->at, "a list takes fields (" FILTER_FIELDS "), and words are for a search");
                else
                        r = p->text[p->at] == '"' ? query_read_phrase(p, q) : query_read_word(p, q);
        }
        return r;
}

/* Each term once, marked as required when any phrase has the term. */
static int query_take_terms(MemoryQuery *q, Diag *reterr) {
        size_t n;
        const Term *t = tokenizer_sorted(q->bag, &n);

        if (!t)
                return -ENOMEM;
        /* Terms of phrases come last. The loop therefore meets the phrase first when a term stands in both. */
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

/* Puts the language and the whole text in front of the rule. */
static int query_refuse(const char *what, const char *text, size_t n, int r, Diag *reterr) {
        if (r > 0)
                diag_prefix(reterr, "%s \"%s\"", what, DIAG_QUOTED_N(text, n));
        return r;
}

int query_parse(const char *text, size_t n, uint64_t limit, uint64_t now_usec, MemoryQuery *ret, Diag *reterr) {
        QueryReader p = {.text = text, .n = n, .search = true, .now = now_usec, .reterr = reterr};
        _cleanup_query_ MemoryQuery q = {.limit = QUERY_LIMIT_STANDARD};
        int r = limit ? query_limit(limit, &q.limit, reterr) : 0;

        if (r != 0)
                return r;
        r = tokenizer_new(&q.bag) ?: query_read_all(&p, &q.filter, &q) ?: query_take_terms(&q, reterr);
        if (r == 0 && q.n_terms == 0 && !q.filter.said)
                r = diag(reterr, QUERY_E_EMPTY,
                         "an empty query: it needs a word, a phrase in quotes, or a field such as kind:memory");
        if (r != 0)
                return query_refuse("query", text, n, r, reterr);
        *ret = q;
        q = QUERY_NULL;
        return 0;
}

int filter_parse(const char *text, size_t n, uint64_t now_usec, RecordFilter *ret, Diag *reterr) {
        QueryReader p = {.text = text, .n = n, .now = now_usec, .reterr = reterr};
        RecordFilter f = {0};
        int r = query_read_all(&p, &f, NULL);

        if (r != 0)
                return query_refuse("filter", text, n, r, reterr);
        *ret = f;
        return 0;
}

bool query_phrases_in(const MemoryQuery *q, const char *const *texts, const size_t *lengths, size_t n) {
        for (size_t i = 0; i < q->n_phrases; i++) {
                bool in = false;

                for (size_t k = 0; k < n && !in; k++)
                        in = tokenizer_have_phrase(texts[k], lengths[k], q->phrases[i], strlen(q->phrases[i]));
                if (!in)
                        return false;
        }
        return true;
}
