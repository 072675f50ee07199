#include "belief/mention.h"
#include "base/ascii.h"
#include "engine/known-names.h"

#include <string.h>
#include <strings.h>

static bool mention_is_hex(char c) {
        return ascii_digit(c) || (c >= 'a' && c <= 'f');
}

static bool mention_in_word(char c) {
        return ascii_letter(c) || ascii_digit(c) || c == '_';
}

/* Is a sentence or a line at an end between the word that ends at `from` and `to`? */
static bool mention_is_apart(const char *s, size_t from, size_t to) {
        for (; from < to; from++)
                if (s[from] == '\n' || s[from] == ':')
                        return true;
        return false;
}

/* The word before `at`, of at least one letter; *at becomes its beginning. Skips the marks that may follow a word
 * inside of a clause, but not the end of a sentence. */
static bool mention_word_before(const char *s, size_t *at, const char **ret, size_t *ret_n) {
        size_t end = *at, from;

        while (end > 0 && (ascii_blank(s[end - 1]) || s[end - 1] == '(' || s[end - 1] == ':' || s[end - 1] == '"'))
                end--;
        for (from = end; from > 0 && (ascii_letter(s[from - 1]) || s[from - 1] == '\'');)
                from--;
        if (from == end)
                return false;
        *ret = s + from;
        *ret_n = end - from;
        *at = from;
        return true;
}

static bool mention_is_one_of(const char *w, size_t n, const char *const *list) {
        for (; *list; list++)
                if (strlen(*list) == n && strncasecmp(w, *list, n) == 0)
                        return true;
        return false;
}

#define BETWEEN_MOST 4 /* words between the name and the verb */

/* "fixes commit", "reverts the patch": the name is the object of the verb. "fixed in commit" means a different
 * thing. */
static bool mention_meant_before(const char *s, size_t at) {
        static const char *const between[] = {"commit", "commits", "patch", "change", "the", "this", NULL};
        static const char *const verbs[] = {
                "fix", "fixes", "fixed", "fixing", "revert", "reverts", "reverted", "reverting", "resolve", "resolves",
                "resolved", "close", "closes", "closed", "invalidate", "invalidates", "invalidated", "supersede",
                "supersedes", "superseded", NULL,
        };
        static const char *const denials[] = {
                "not", "never", "cannot", "without", "don't", "doesn't", "didn't", "isn't", NULL,
        };
        const char *w;
        size_t n, passed = 0, verb;

        do
                if (passed++ == BETWEEN_MOST || !mention_word_before(s, &at, &w, &n))
                        return false;
        while (mention_is_one_of(w, n, between));
        if (!mention_is_one_of(w, n, verbs))
                return false;
        verb = at;
        /* a denial in the line before denies something else (G-67) */
        return !mention_word_before(s, &at, &w, &n) || mention_is_apart(s, at + n, verb) ||
               !mention_is_one_of(w, n, denials);
}

/* "similar to the issue X", "see also X", "unlike X". */
bool mention_is_aside(const char *s, size_t at) {
        static const char *const between[] = {
                "the", "this", "that", "a", "an", "issue", "issues", "bug", "problem", "blocker", "commit", "constraint",
                "decision", "rule", "row", "case", "of", "one", "our", "earlier", "other", NULL,
        };
        static const char *const alone[] = {"like", "unlike", "cf", "versus", "vs", "resembles", "recalls", NULL};
        static const char *const links[] = {"to", "with", "from", "also", "as", "than", NULL};
        static const char *const likens[] = {
                "similar", "similarly", "compare", "compared", "related", "unrelated", "different", "differs", "see",
                "reminiscent", "comparable", "akin", "same", "alike", "worse", "better", "other", "rather", NULL,
        };
        const char *w;
        size_t n, passed = 0;

        do
                if (passed++ == BETWEEN_MOST || !mention_word_before(s, &at, &w, &n))
                        return false;
        while (mention_is_one_of(w, n, between));
        if (n == 3 && strncasecmp(w, "see", n) == 0) { /* "fixed: see X" has no other subject */
                while (at > 0 && ascii_blank(s[at - 1]))
                        at--;
                return at > 0 && s[at - 1] != ':';
        }
        return mention_is_one_of(w, n, alone) ||
               (mention_is_one_of(w, n, links) && mention_word_before(s, &at, &w, &n) && mention_is_one_of(w, n, likens));
}

static bool mention_meant_behind(const char *s, size_t n) {
        static const char *const verbs[] = {"caused", "causes", "broke", "breaks", "regressed", NULL};
        size_t i = 0, from;

        while (i < n && (ascii_blank(s[i]) || s[i] == ')'))
                i++;
        for (from = i; i < n && ascii_letter(s[i]);)
                i++;
        return mention_is_one_of(s + from, i - from, verbs);
}

/* A title in quotes at s. Returns the length with the quotes; 0: no title. */
static size_t mention_quoted(const char *s, size_t n, Mention *m) {
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

/* Digits alone, or letters alone, are a hash only after a word such as "commit"; otherwise a number or a word. */
static bool mention_is_hash(const char *s, size_t at, size_t n) {
        bool digit = false, letter = false;
        const char *w;
        size_t n_w;

        if (n < MENTION_HASH_LEAST || n > MENTION_HASH_MOST)
                return false;
        for (size_t i = at; i < at + n; i++)
                *(s[i] <= '9' ? &digit : &letter) = true;
        if (digit && letter)
                return true;
        return mention_word_before(s, &at, &w, &n_w) &&
               mention_is_one_of(w, n_w, (const char *const[]){"commit", "fixes", "reverts", NULL});
}

/* Reads a hash at `at`, with the title behind the hash. */
static bool mention_hash_at(const char *s, size_t n, size_t at, Mention *m) {
        size_t end = at, k;

        while (end < n && mention_is_hex(s[end]))
                end++;
        if ((end < n && mention_in_word(s[end])) || !mention_is_hash(s, at, end - at))
                return false;
        *m = (Mention){.hash = s + at, .n_hash = end - at, .from = at, .to = end};
        for (k = end; k < n && (ascii_blank(s[k]) || s[k] == '(');)
                k++;
        k += mention_quoted(s + k, n - k, m);
        if (m->title)
                m->to = k;
        m->meant = mention_meant_before(s, at) || mention_meant_behind(s + m->to, n - m->to);
        return true;
}

static bool mention_title_at(const char *s, size_t n, size_t at, Mention *m) {
        *m = (Mention){.from = at};
        m->to = at + mention_quoted(s + at, n - at, m);
        m->meant = m->title && (mention_meant_before(s, at) || mention_meant_behind(s + m->to, n - m->to));
        return m->meant;
}

size_t mentions_find(const char *s, size_t n, Mention ret[static MENTIONS_MAX]) {
        size_t found = 0;

        for (size_t i = 0; i < n && found < MENTIONS_MAX;) {
                bool begins = i == 0 || !mention_in_word(s[i - 1]);

                if ((begins && mention_is_hex(s[i]) && mention_hash_at(s, n, i, &ret[found])) ||
                    (s[i] == '"' && mention_title_at(s, n, i, &ret[found])))
                        i = ret[found++].to;
                else
                        i++;
        }
        return found;
}

static bool mention_same_title(const char *a, size_t n_a, const char *b, size_t n_b) {
        size_t i = 0, k = 0;

        for (;;) {
                bool gap_a = i == 0, gap_b = k == 0; /* white space at the ends does not count */

                for (; i < n_a && ascii_blank(a[i]); i++)
                        gap_a = true;
                for (; k < n_b && ascii_blank(b[k]); k++)
                        gap_b = true;
                if (i == n_a || k == n_b)
                        return i == n_a && k == n_b;
                if (gap_a != gap_b || ascii_lower(a[i]) != ascii_lower(b[k]))
                        return false;
                i++;
                k++;
        }
}

bool mention_is(const Mention *m, const char *id, const char *title, size_t n_title) {
        const char *hash;
        size_t n;

        if (!m->hash)
                return mention_same_title(m->title, m->n_title, title, n_title);
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
