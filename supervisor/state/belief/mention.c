#include "belief/mention.h"
#include "engine/refmem.h"

#include <string.h>
#include <strings.h>

static bool is_hex(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_letter(char c) {
        return (c | 0x20) - 'a' < 26U;
}

static bool in_word(char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The word that ends before `at`, at least one letter; *at becomes where it begins. What may stand behind a word and belongs to its clause is passed over,
 * the end of a sentence is not. */
static bool word_before(const char *s, size_t *at, const char **ret, size_t *ret_n) {
        size_t end = *at, from;

        while (end > 0 && (is_blank(s[end - 1]) || s[end - 1] == '(' || s[end - 1] == ':' || s[end - 1] == '"'))
                end--;
        for (from = end; from > 0 && (is_letter(s[from - 1]) || s[from - 1] == '\'');)
                from--;
        if (from == end)
                return false;
        *ret = s + from;
        *ret_n = end - from;
        *at = from;
        return true;
}

static bool is_one_of(const char *w, size_t n, const char *const *list) {
        for (; *list; list++)
                if (strlen(*list) == n && strncasecmp(w, *list, n) == 0)
                        return true;
        return false;
}

#define BETWEEN_MOST 4 /* words up to the verb */

/* "fixes commit", "reverts the patch": the verb's object is what follows. "fixed in commit" is another thing. */
static bool meant_before(const char *s, size_t at) {
        static const char *const between[] = {"commit", "commits", "patch", "change", "the", "this", NULL};
        static const char *const verbs[] = {"fix", "fixes", "fixed", "fixing", "revert", "reverts", "reverted", "reverting", "resolve", "resolves", "resolved",
                                            "close", "closes", "closed", "invalidate", "invalidates", "invalidated", "supersede", "supersedes",
                                            "superseded", NULL};
        static const char *const denials[] = {"not", "never", "cannot", "without", "don't", "doesn't", "didn't", "isn't", NULL};
        const char *w;
        size_t n, passed = 0;

        do
                if (passed++ == BETWEEN_MOST || !word_before(s, &at, &w, &n))
                        return false;
        while (is_one_of(w, n, between));
        if (!is_one_of(w, n, verbs))
                return false;
        return !word_before(s, &at, &w, &n) || !is_one_of(w, n, denials);
}

static bool meant_behind(const char *s, size_t n) {
        static const char *const verbs[] = {"caused", "causes", "broke", "breaks", "regressed", NULL};
        size_t i = 0, from;

        while (i < n && (is_blank(s[i]) || s[i] == ')'))
                i++;
        for (from = i; i < n && is_letter(s[i]);)
                i++;
        return is_one_of(s + from, i - from, verbs);
}

/* A title in quotes at s: its length with them, 0: none. */
static size_t quoted(const char *s, size_t n, Mention *m) {
        const char *end;

        if (n < 3 || s[0] != '"')
                return 0;
        end = memchr(s + 1, '"', MIN(n - 1, (size_t)MENTION_TITLE_MOST + 1));
        if (!end || end == s + 1)
                return 0;
        m->title = s + 1;
        m->n_title = (size_t)(end - s - 1);
        return (size_t)(end + 1 - s);
}

/* Digits alone, or letters alone, are a hash only where it is said to be a commit: else they are a number, or a word. */
static bool is_hash(const char *s, size_t at, size_t n) {
        bool digit = false, letter = false;
        const char *w;
        size_t n_w;

        if (n < MENTION_HASH_LEAST || n > MENTION_HASH_MOST)
                return false;
        for (size_t i = at; i < at + n; i++)
                *(s[i] <= '9' ? &digit : &letter) = true;
        if (digit && letter)
                return true;
        return word_before(s, &at, &w, &n_w) && is_one_of(w, n_w, (const char *const[]){"commit", "fixes", "reverts", NULL});
}

/* A word at `at` that is a hash, with the title that stands behind it. */
static bool hash_at(const char *s, size_t n, size_t at, Mention *m) {
        size_t end = at, k;

        while (end < n && is_hex(s[end]))
                end++;
        if ((end < n && in_word(s[end])) || !is_hash(s, at, end - at))
                return false;
        *m = (Mention){.hash = s + at, .n_hash = end - at, .from = at, .to = end};
        for (k = end; k < n && (is_blank(s[k]) || s[k] == '(');)
                k++;
        k += quoted(s + k, n - k, m);
        if (m->title)
                m->to = k;
        m->meant = meant_before(s, at) || meant_behind(s + m->to, n - m->to);
        return true;
}

static bool title_at(const char *s, size_t n, size_t at, Mention *m) {
        *m = (Mention){.from = at};
        m->to = at + quoted(s + at, n - at, m);
        m->meant = m->title && (meant_before(s, at) || meant_behind(s + m->to, n - m->to));
        return m->meant;
}

size_t mentions_find(const char *s, size_t n, Mention ret[static MENTIONS_MAX]) {
        size_t found = 0;

        for (size_t i = 0; i < n && found < MENTIONS_MAX;) {
                bool begins = i == 0 || !in_word(s[i - 1]);

                if ((begins && is_hex(s[i]) && hash_at(s, n, i, &ret[found])) || (s[i] == '"' && title_at(s, n, i, &ret[found])))
                        i = ret[found++].to;
                else
                        i++;
        }
        return found;
}

static char folded(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_title(const char *a, size_t n_a, const char *b, size_t n_b) {
        size_t i = 0, k = 0;

        for (;;) {
                bool gap_a = i == 0, gap_b = k == 0; /* white space at the ends counts for nothing */

                for (; i < n_a && is_blank(a[i]); i++)
                        gap_a = true;
                for (; k < n_b && is_blank(b[k]); k++)
                        gap_b = true;
                if (i == n_a || k == n_b)
                        return i == n_a && k == n_b;
                if (gap_a != gap_b || folded(a[i]) != folded(b[k]))
                        return false;
                i++;
                k++;
        }
}

bool mention_is(const Mention *m, const char *id, const char *title, size_t n_title) {
        const char *hash;
        size_t n;

        if (!m->hash)
                return same_title(m->title, m->n_title, title, n_title);
        n = refmem_hash(id, &hash);
        return n > 0 && memcmp(hash, m->hash, MIN(n, m->n_hash)) == 0;
}

char *mentions_blank(const char *text, size_t n, const Mention *m, size_t n_mentions) {
        char *made = malloc(n + 1);

        if (!made)
                return NULL;
        memcpy(made, text, n);
        made[n] = 0;
        for (size_t i = 0; i < n_mentions; i++)
                memset(made + m[i].from, ' ', m[i].to - m[i].from);
        return made;
}
