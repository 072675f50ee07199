/* Runs: tests. Text as terms: which there are, how often, and that they are the same whatever stands around them. */
#include "index/tokenizer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <libstemmer.h>
#include <stdio.h>
#include <string.h>

/* "a b*2 (c)": sorted, with a number when there are several, wholes in brackets. */
static const char *show(Tokenizer *b, unsigned field, char out[static 2048]) {
        size_t n, o = 0;
        const Term *t = tokenizer_sorted(b, &n);

        out[0] = '\0';
        for (size_t i = 0; i < n; i++) {
                char times[16] = "";

                if (t[i].field != field)
                        continue;
                if (t[i].times > 1)
                        snprintf(times, sizeof(times), "*%u", t[i].times);
                o += (size_t)snprintf(out + o, 2048 - o, "%s%s%.*s%s%s", o ? " " : "", t[i].whole ? "(" : "", t[i].n, t[i].p, t[i].whole ? ")" : "", times);
        }
        return out;
}

// M-14, G-15: the same words, however they are written, are the same terms.
Test(terms, of_texts) {
        static const struct {
                const char *text, *terms;
                unsigned length;
        } rows[] = {
                {"", "", 0},
                {" \n.,-_'!", "", 0},
                {"The blocker is fixed.", "blocker fix is the", 4},
                {"running runs run", "run*3", 3},
                {"pandas_import_blocker", "blocker import panda (pandas_import_blocker)", 3},
                {"__rte_unused__", "rte (rte_unused) unus", 2},
                {"plan_b", "plan (plan_b)", 1},
                {"a_b", "a_b", 1},
                {"rteEthDev", "dev eth rte (rteethdev)", 3},
                {"HTTPServer and HttpServer", "and http*2 (httpserver)*2 server*2", 5},
                {"GitHub github", "git github*2 hub", 3},
                {"IDs, VFs and a VF", "a and id vf*2 (vfs)", 5},
                {"eBPF", "bpf (ebpf)", 1},
                {"mlx5 i40e X550", "i40e mlx5 x550", 3},
                {"mlx5_rxBurst", "burst mlx5 (mlx5_rxburst) rx (rxburst)", 3},
                {"CVE-2023-1234", "1234 2023 cve (cve-2023-1234)", 3},
                {"v22.11.1", "1 11 v22 (v22.11.1)", 3},
                {"end. Next-door well-known a.b", "a b door end known next well", 7},
                {"3.", "3", 1},
                {"it's don't O'Reilly \xe2\x80\x99tis dogs' it\xe2\x80\x99s", "dog dont it*2 oreilli tis", 6},
                {"Caf\xc3\xa9 CAFE\xcc\x81 cafe", "cafe*3", 3},
                {"\xc3\x85ngstr\xc3\xb6m", "angstrom", 1},
                {"\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0 \xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0", "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0*2", 2},
                {"\xce\x91\xce\xb8\xce\xae\xce\xbd\xce\xb1", "\xce\xb1\xce\xb8\xce\xb7\xce\xbd\xce\xb1", 1},
                {"\xef\xbc\xa1\xef\xbc\xa2\xef\xbc\x91", "ab1", 1},
                {"\xe6\x9d\xb1\xe4\xba\xac" "abc", "abc \xe4\xba\xac \xe6\x9d\xb1", 3},
                {"co\xc2\xado\xe2\x80\x8dp", "coop", 1},
                {"one\xff" "two\xc3", "one two", 2},
                {"one\xed\xa0\x80two\xc0\xaf", "one two", 2},
                {"a\xe2\x80\x94" "b\xc2\xa0" "c", "a b c", 3},
                {"one\xf0\x9f\x98\x80two", "one two", 2},
        };
        _cleanup_tokenizer_ Tokenizer *b = NULL;
        char out[2048];

        cr_assert_eq(tokenizer_new(&b), 0);
        for (size_t k = 0; k < 3 * ARRAY_SIZE(rows); k++) { /* and again, with what is remembered of the time before */
                size_t i = k % ARRAY_SIZE(rows);

                tokenizer_clear(b);
                if (k == ARRAY_SIZE(rows))
                        cr_assert_eq(tokenizer_keep_stems(b), 0);
                cr_assert_eq(tokenizer_add(b, 2, rows[i].text, strlen(rows[i].text)), 0);
                cr_expect_str_eq(show(b, 2, out), rows[i].terms, "\"%s\": %s", rows[i].text, out);
                cr_expect_eq(tokenizer_length(b, 2), rows[i].length, "\"%s\": %u", rows[i].text, tokenizer_length(b, 2));
        }
}

// M-14: what is counted is counted by field, and the bounds hold.
Test(terms, fields_and_bounds) {
        _cleanup_tokenizer_ Tokenizer *b = NULL;
        _cleanup_free_ char *text = malloc(TERMS_TEXT_MAX + 1);
        char out[2048];
        size_t n;
        const Term *t;

        cr_assert_eq(tokenizer_new(&b), 0);
        t = tokenizer_sorted(b, &n);
        cr_assert(t && n == 0);
        cr_assert_eq(tokenizer_add(b, 0, "one two one", 11), 0);
        cr_assert_eq(tokenizer_add(b, 1, "two", 3), 0);
        cr_assert_eq(tokenizer_add(b, 0, "three", 5), 0);
        cr_expect_str_eq(show(b, 0, out), "one*2 three two");
        cr_expect_str_eq(show(b, 1, out), "two");
        cr_expect_eq(tokenizer_length(b, 0), 4);
        cr_expect_eq(tokenizer_length(b, 1), 1);

        tokenizer_clear(b);
        for (size_t i = 0; i <= TERMS_TEXT_MAX; i++)
                text[i] = i % 2 ? ' ' : 'x';
        cr_expect_eq(tokenizer_add(b, 0, text, TERMS_TEXT_MAX + 1), -EFBIG);
        cr_expect_eq(tokenizer_add(b, 0, text, TERMS_TEXT_MAX), 0);
        t = tokenizer_sorted(b, &n);
        cr_expect_eq(n, 1);
        cr_expect_eq(t[0].times, TERM_TIMES_MAX);
        cr_expect_eq(tokenizer_length(b, 0), TERMS_LENGTH_MAX);

        tokenizer_clear(b);
        memset(text, 'a', 1000);
        memcpy(text + 100, "_b", 2);
        cr_assert_eq(tokenizer_add(b, 0, text, 1000), 0);
        t = tokenizer_sorted(b, &n);
        for (size_t i = 0; i < n; i++)
                cr_expect(t[i].n > 0 && t[i].n <= TERM_BYTES_MAX);
}

/* index/tokenizer.c goes past libstemmer.h: for many words the results are those of its door. */
Test(terms, stems_are_those_of_libstemmer) {
        static const char *const stems[] = {"generous", "relat", "hopp", "agre", "happi", "sky", "lying", "commun", "import", "nation", "fix", "ethernet", "y"};
        static const char *const ends[] = {"", "s", "es", "ed", "ing", "ation", "ational", "ness", "fulness", "ly", "ies", "eed", "ization", "er", "able", "'s", "e", "y"};
        struct sb_stemmer *door = sb_stemmer_new("english", NULL);
        _cleanup_tokenizer_ Tokenizer *b = NULL;

        cr_assert_eq(tokenizer_new(&b), 0);
        for (size_t i = 0; i < ARRAY_SIZE(stems) * ARRAY_SIZE(ends); i++) {
                char word[64], wanted[64], out[2048];

                snprintf(word, sizeof(word), "%s%s", stems[i / ARRAY_SIZE(ends)], ends[i % ARRAY_SIZE(ends)]);
                snprintf(wanted, sizeof(wanted), "%s", (const char *)sb_stemmer_stem(door, (const sb_symbol *)word, (int)strlen(word)));
                tokenizer_clear(b);
                cr_assert_eq(tokenizer_add(b, 0, word, strlen(word)), 0);
                cr_expect_str_eq(show(b, 0, out), wanted, "%s: %s, not %s", word, out, wanted);
        }
        sb_stemmer_delete(door);
}

// M-14: a phrase is its words in their order, and nothing between them but what separates.
Test(terms, phrases) {
        static const struct {
                const char *text, *phrase;
                bool in;
        } rows[] = {
                {"the blocker is fixed", "blocker is", true},
                {"The BLOCKER,\nis fixed", "blocker is", true},
                {"the blocker was fixed", "blocker is", false},
                {"blockers is", "blocker is", false},
                {"is", "is is", false},
                {"a a a b", "a a b", true},
                {"a b a b a c", "a b a c", true},
                {"a b a b", "b a a", false},
                {"import_blocker", "import blocker", false},
                {"caf\xc3\xa9 noir", "CAFE NOIR", true},
                {"cve-2023-1234", "2023 1234", true},
                {"anything", "", false},
                {"anything", " - ", false},
                {"", "x", false},
                {"a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect_eq(tokenizer_have_phrase(rows[i].text, strlen(rows[i].text), rows[i].phrase, strlen(rows[i].phrase)), rows[i].in, "\"%s\" in \"%s\"",
                             rows[i].phrase, rows[i].text);
        cr_expect_eq(tokenizer_phrase_words("one two-three", 13), 3);
}

/* However many there are, they come by field, then by bytes, a beginning first (index/postings.h). */
Test(terms, in_order) {
        static const unsigned many[] = {2, 20, 47, 48, 49, 200};
        uint64_t seed = 7;

        for (size_t round = 0; round < 300; round++) {
                _cleanup_tokenizer_ Tokenizer *b = NULL;
                const Term *t;
                size_t n;

                cr_assert_eq(tokenizer_new(&b), 0);
                for (unsigned i = 0; i < many[round % ARRAY_SIZE(many)]; i++) {
                        char p[12];

                        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                        for (size_t k = 0; k < sizeof(p); k++)
                                p[k] = (seed >> (20 + k)) % 3 ? 'a' : (seed >> (30 + k)) % 2 ? 'b' : '\xC3';
                        cr_assert_eq(tokenizer_take(b, &(Term){.p = p, .n = (uint8_t)(1 + (seed >> 50) % sizeof(p)),
                                                                  .field = (seed >> 60) % 3, .times = 1}), 0);
                }
                t = tokenizer_sorted(b, &n);
                cr_assert(t);
                for (size_t i = 1; i < n; i++) {
                        int bytes = memcmp(t[i - 1].p, t[i].p, MIN(t[i - 1].n, t[i].n));

                        cr_assert(t[i - 1].field < t[i].field || (t[i - 1].field == t[i].field && (bytes < 0 || (bytes == 0 && t[i - 1].n < t[i].n))));
                }
        }
}

/* FNV-1a, as who sends words can work it out. */
static uint32_t known_hash(const char *p, size_t n) {
        uint32_t h = 2166136261U;

        for (size_t i = 0; i < n; i++)
                h = (h ^ (uint8_t)p[i]) * 16777619U;
        return h ^ h >> 15;
}

// M-14: words chosen by whoever wants a text to take long are found as fast as any.
Test(terms, chosen_words) {
        static const char digits[] = "0123456789bcdfghjkmnpqrtvwxz";
        _cleanup_tokenizer_ Tokenizer *b = NULL;
        unsigned n = 0;
        size_t terms;

        cr_assert_eq(tokenizer_new(&b), 0);
        for (unsigned long x = 0; n < 20000; x++) {
                char word[6];
                unsigned long y = x;

                word[0] = (char)('0' + y % 10);
                y /= 10;
                for (size_t i = 1; i < sizeof(word); i++, y /= sizeof(digits) - 1)
                        word[i] = digits[y % (sizeof(digits) - 1)];
                if ((known_hash(word, sizeof(word)) & 0xFFFF) >= 1024)
                        continue;
                cr_assert_eq(tokenizer_add(b, 0, word, sizeof(word)), 0);
                n++;
        }
        cr_assert(tokenizer_sorted(b, &terms));
        cr_assert_eq(terms, n);
        cr_assert_lt(tokenizer_longest_search(b), 2000, "%zu of %u", tokenizer_longest_search(b), n);
}
