/* Text as terms. A NUL ends a text: two of them go into one bag. What is said of the bag holds whatever the bytes; the same text again gives the same
 * terms twice; each phrase made of the text's own words is in it; a word is read as itself again; and the words one by one, as a query's phrase has them, have
 * no term that the text has not. */
#include "index/tokenizer.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static Tokenizer *bag, *apart;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return tokenizer_new(&bag) | tokenizer_new(&apart);
}

static void check_sorted(const Term *t, size_t n) {
        for (size_t i = 0; i < n; i++) {
                fuzz_check(t[i].n > 0 && t[i].n <= TERM_BYTES_MAX && t[i].times > 0 && t[i].field < 2);
                fuzz_check(!memchr(t[i].p, 0, t[i].n), "term %zu", i);
                for (size_t k = 0; k < t[i].n; k++)
                        fuzz_check(t[i].p[k] < 'A' || t[i].p[k] > 'Z', "a capital in %.*s", t[i].n, t[i].p);
                if (i > 0 && t[i - 1].field == t[i].field) {
                        int r = memcmp(t[i - 1].p, t[i].p, MIN(t[i - 1].n, t[i].n));

                        fuzz_check(r < 0 || (r == 0 && t[i - 1].n < t[i].n), "term %zu", i);
                }
        }
}

static void check_words(const char *text, size_t n) {
        size_t at = 0, end = 0, count = 0, first = 0;
        Word w, again;

        while (word_next(text, n, &at, &w)) {
                size_t zero = 0;

                fuzz_check(w.n > 0 && w.n <= TERM_BYTES_MAX && w.at >= end && w.end > w.at && w.end <= n && at == w.end);
                fuzz_check(word_next(w.p, w.n, &zero, &again) && again.n == w.n && memcmp(again.p, w.p, w.n) == 0, "%.*s", w.n, w.p);
                if (count < 16)
                        fuzz_check(tokenizer_have_phrase(text, n, text + w.at, w.end - w.at), "%.*s", w.n, w.p);
                if (count++ == 3)
                        fuzz_check(tokenizer_have_phrase(text, n, text + first, w.end - first));
                if (count == 1)
                        first = w.at;
                end = w.end;
        }
        fuzz_check(tokenizer_phrase_words(text, n) == count);
}

/* A filter that must not leave out what the phrase is in. */
static void check_apart(const char *text, size_t n) {
        size_t at = 0, n_all, n_apart, k = 0;
        const Term *all, *t;
        Word w;

        tokenizer_clear(apart);
        while (word_next(text, n, &at, &w))
                fuzz_check(tokenizer_add(apart, 0, w.p, w.n) == 0);
        tokenizer_clear(bag);
        fuzz_check(tokenizer_add(bag, 0, text, n) == 0);
        all = tokenizer_sorted(bag, &n_all);
        t = tokenizer_sorted(apart, &n_apart);
        for (size_t i = 0; i < n_apart; i++) {
                while (k < n_all && !(all[k].n == t[i].n && memcmp(all[k].p, t[i].p, t[i].n) == 0))
                        k++;
                fuzz_check(k < n_all, "%.*s", t[i].n, t[i].p);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *text = (const char *)data, *second = memchr(data, 0, n);
        size_t n_first = second ? (size_t)(second - text) : n, n_terms, n_again;
        const Term *t;

        if (n > 8192)
                return 0;
        check_words(text, n);
        check_apart(text, n);
        tokenizer_clear(bag);
        fuzz_check(tokenizer_add(bag, 0, text, n_first) == 0);
        fuzz_check(tokenizer_add(bag, 1, text + n_first, n - n_first) == 0);
        t = tokenizer_sorted(bag, &n_terms);
        fuzz_check(t != NULL);
        check_sorted(t, n_terms);
        fuzz_check((tokenizer_length(bag, 0) == 0) == (n_terms == 0 || t[0].field != 0));
        fuzz_check(tokenizer_add(bag, 0, text, n_first) == 0);
        t = tokenizer_sorted(bag, &n_again);
        fuzz_check(n_again == n_terms);
        for (size_t i = 0; i < n_again && t[i].field == 0; i++)
                fuzz_check(t[i].times % 2 == 0 || t[i].times == TERM_TIMES_MAX);
        return 0;
}
