/* Runs: supervisor, CLI. Words of a rule: its body, its stems, and words without matter at both ends. */
#include "cognition/rules-inside.h"

size_t rule_words(const PhraseText *t, size_t at, size_t end, char *out, size_t n_out) {
        size_t n = 0;

        for (size_t i = at; i < end; i++) {
                const PhraseWord *w = &t->word[i];
                const char *s = t->text + w->at;
                bool sign = *s == '$' || *s == '%' || *s == '#' || *s == '/' || *s == '=';

                if (w->foreign || (!w->letter && !sign && w->n == 1) ||
                    (w->class & PW_ARTICLE && (!w->capital || w->begins) && !(w->class & PW_THIS)))
                        continue;
                if (n + w->n + 2 > n_out)
                        break;
                if (n > 0 && !(i > at && w->gap == 0 && t->word[i - 1].at + t->word[i - 1].n == w->at &&
                               (sign || out[n - 1] == '$' || out[n - 1] == '/')))
                        out[n++] = ' ';
                memcpy(out + n, s, w->n);
                n += w->n;
        }
        out[n] = '\0';
        return n;
}

/* The stem of a word: without s, es, ed, ing. */
static size_t rule_stem(const char *w, size_t n) {
        if (n > 5 && memcmp(w + n - 3, "ing", 3) == 0)
                n -= 3;
        else if (n > 4 && (memcmp(w + n - 2, "ed", 2) == 0 || memcmp(w + n - 2, "es", 2) == 0))
                n -= 2;
        else if (n > 3 && w[n - 1] == 's' && w[n - 2] != 's')
                n--;
        if (n > 3 && w[n - 1] == w[n - 2] && !strchr("aeiousl", w[n - 1]))
                n--; /* "capped" */
        if (n > 3 && w[n - 1] == 'e')
                n--;
        return n;
}

bool rule_weak(const char *w, size_t n) {
        static const char *const strong[] = {"call", "change", "cancel", "book", "pay", "check", "price",
                                             "cost", "friend", "address", "phone", "person", "people"};
        uint32_t c = phrase_class(w, n, NULL);

        for (size_t i = 0; i < ARRAY_SIZE(strong); i++)
                if (strlen(strong[i]) == n && memcmp(strong[i], w, n) == 0)
                        return false;
        return c & PW_STOP && !(c & (PW_VERB | PW_PART | PW_UNIT | PW_DAY | PW_NUMBER));
}

size_t rule_shared(const char *a, const char *b, size_t *ret_n) {
        char x[256], y[256];
        size_t shared = 0;

        *ret_n = 0;
        phrase_norm(a, x, sizeof(x));
        phrase_norm(b, y, sizeof(y));
        for (const char *p = x; *p; p += *p == ' ') {
                size_t n = strcspn(p, " "), stem = rule_stem(p, n);
                bool found = false;

                if (!rule_weak(p, n)) {
                        ++*ret_n;
                        for (const char *q = y; *q && !found; q += *q == ' ') {
                                size_t n_q = strcspn(q, " ");
                                found = rule_stem(q, n_q) == stem && memcmp(p, q, stem) == 0;
                                q += n_q;
                        }
                        shared += found;
                }
                p += n;
        }
        return shared;
}

size_t rule_skip(const PhraseText *t, size_t at, size_t end) {
        static const char *const fillers[] = {
                "and",       "but",          "also",     "please",     "so",     "then",       "now",
                "ok",        "okay",         "yes",      "well",       "again",  "remember",   "note",
                "that",      "important",    "reminder", "rule",       "by",     "way",        "first",
                "however",   "additionally", "sure",     "thanks",     "or",     "thus",       "hence",
                "therefore", "just",         "ideally",  "preferably", "kindly", "absolutely", "furthermore",
                "moreover",  "besides",      "finally",  "last",       "second", "secondly",   "also"};

        for (; at < end; at++) {
                bool filler = !t->word[at].letter;

                if (phrase_match(t, at, end, "remember to"))
                        break;
                for (size_t k = 0; k < ARRAY_SIZE(fillers) && !filler; k++)
                        filler = rule_says(t, at, end, fillers[k]);
                if (!filler)
                        break;
        }
        return at;
}

void rule_trim(const PhraseText *t, size_t *at, size_t *end) {
        static const char *const head[] = {"you", "we", "i", "to", "that", "should", "may", "can", "the",
                                           "agent", "it", "they", "anyone", "ever", "want", "is", "are", "there",
                                           "will", "shall", "be", "must", "also", "actually", "correction", "and", "but", "only"};
        static const char *const tail[] = {"please", "ever", "though", "ok", "okay", "too", "either", "and",
                                           "but", "or", "again", "anymore", "right", "to", "be",
                                           "yet"};
        static const char *const tails[] = {"for now", "for the moment", "at all", "right now", "from now on",
                                            "as agreed", "at any time", "at any point", "no matter what",
                                            "under any circumstances", "in any case", "for the time being", "so far"};
        bool again = true;

        while (again && *at < *end) {
                again = !t->word[*at].letter && t->text[t->word[*at].at] != '$';
                for (size_t k = 0; k < ARRAY_SIZE(head) && !again; k++)
                        again = rule_says(t, *at, *end, head[k]) && !(k + 1 == ARRAY_SIZE(head));
                *at += again;
        }
        for (size_t cut = 1; cut > 0 && *at < *end; *end -= cut) {
                cut = !t->word[*end - 1].letter && t->text[t->word[*end - 1].at] != '%';
                for (size_t k = 0; k < ARRAY_SIZE(tail) && cut == 0; k++)
                        cut = rule_says(t, *end - 1, *end, tail[k]);
                for (size_t k = 0; k < ARRAY_SIZE(tails) && cut == 0; k++)
                        for (size_t n = 2; n <= 4 && n < *end - *at && cut == 0; n++)
                                cut = phrase_match(t, *end - n, *end, tails[k]) == n ? n : 0;
        }
}

size_t rule_remark(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at + 3; i < end; i++) {
                bool list = false;

                if (!rule_says(t, i, end, ",") && !rule_says(t, i, end, "--") && !rule_says(t, i, end, "("))
                        continue;
                for (size_t k = i; k < end && !list; k++)
                        list = rule_says(t, k, end, "or") || rule_says(t, k, end, "and");
                if (!list)
                        return i;
        }
        return end;
}
