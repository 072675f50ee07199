/* Runs: tests. The languages of search and list: what they mean, and what is refused with its place. */
#include "base/clock.h"
#include "memory/query.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NOW UINT64_C(1800000000000000)

/* "alfa bravo! (3: one two)": terms, ! when they must be there; then the number of phrases. */
static const char *show(const MemoryQuery *q, char out[static 1024]) {
        size_t o = 0;

        out[0] = '\0';
        for (size_t i = q->n_terms; i-- > 0;)
                o += (size_t)snprintf(out + o, 1024 - o, "%s%.*s%s", o ? " " : "", q->terms[i].n, q->terms[i].p, q->terms[i].must ? "!" : "");
        for (size_t i = 0; i < q->n_phrases; i++)
                o += (size_t)snprintf(out + o, 1024 - o, "%s[%s]", o ? " " : "", q->phrases[i]);
        return out;
}

// M-14: words, phrases and fields.
Test(query, means) {
        static const struct {
                const char *text, *terms;
        } rows[] = {
                {"birthday", "birthday"},
                {"  when is\tthe birthdays? ", "birthday is the when"},
                {"one two one", "one two"},
                {"\"exact phrase\"", "exact! phrase! [exact phrase]"},
                {"\"a \\\"quoted\\\" \\\\ one\"", "a! one! quot! [a \"quoted\" \\ one]"},
                {"fixed \"is fixed\"", "fix! is! [is fixed]"},
                {"import_blocker", "blocker import import_blocker"},
                {"\"GitHub cve-2023-1\"", "1! 2023! cve! github! [GitHub cve-2023-1]"},
                {"10:30 a.b & c", "30 a b c 10"},
                {"and or not", "and not or"},
                {"kind:memory", ""},
                {"kind:memory \"x y\" type:semantic", "x! y! [x y]"},
                {"caf\xc3\xa9", "cafe"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_query_ MemoryQuery q = QUERY_NULL;
                char out[1024], wanted[1024];
                Diag d = {""};

                cr_assert_eq(query_parse(rows[i].text, strlen(rows[i].text), 0, NOW, &q, &d), 0, "%s: %s", rows[i].text, d.text);
                cr_expect_eq(q.limit, QUERY_LIMIT_STANDARD);
                /* The order of terms says nothing: both are looked through for what the other has. */
                show(&q, out);
                snprintf(wanted, sizeof(wanted), "%s", rows[i].terms);
                cr_expect_eq(strlen(out), strlen(wanted), "%s: %s", rows[i].text, out);
                for (char *rest = wanted, *word; (word = strsep(&rest, " "));)
                        cr_expect(strstr(out, word), "%s: %s lacks %s", rows[i].text, out, word);
        }
}

// M-13, M-14: malformed is an error that names the place and the rule; nothing is taken for something else.
Test(query, refuses) {
        static const struct {
                const char *text, *says;
                size_t n; /* 0: to the NUL */
        } rows[] = {
                {"", "an empty query"},
                {"  \n", "an empty query"},
                {"?! & -", "an empty query"},
                {"one \"two", "at character 5: a quote that is not closed"},
                {"\"two\\", "at character 1: a quote that is not closed"},
                {"\"\"", "at character 1: a phrase of 0 words"},
                {"\" - \"", "a phrase of 0 words"},
                {"\"a\"b", "at character 4: a space is missing"},
                {"a\"b\"", "at character 2: a quote begins a phrase"},
                {"\"a\\n\"", "at character 3: a backslash"},
                {"one -two", "at character 5: - is no operator"},
                {"+two", "at character 1: + is no operator"},
                {"one AND two", "at character 5: AND is no operator"},
                {"NOT one", "NOT is no operator"},
                {"impor*", "at character 6: * is no operator"},
                {"colour:red", "at character 1: \"colour\" is no field; the fields are kind"},
                {"\xc3\xa9\xc3\xa9 colour:red", "at character 4: "},
                {"std::string", "\"std\" is no field"},
                {"https://example.org", "\"https\" is no field"},
                {"id=x", "at character 3: a field is written"},
                {"kind:", "kind has no value"},
                {"kind: memory", "kind has no value"},
                {"kind:nothing", "\"nothing\" is no kind"},
                {"kind:working_state", "\"working_state\" is no kind"}, // M-9
                {"kind:issues,,plan", "a name is missing"},
                {"kind:issues,", "a name is missing"},
                {"kind:issues kind:plan", "at character 13: kind is said twice"},
                {"kind>issues", "only created can be compared"},
                {"type:\"episodic semantic\"", "no type"},
                {"state:deleted", "no state"},
                {"state:removed", "removed records are in no search"},
                {"state:active,removed x", "removed records are in no search"},
                {"id:UPPER", "id \"UPPER\""},
                {"ref:issues", "must be KIND/ID"},
                {"ref:nothing/x1", "no kind of record"},
                {"ref:issues/X", "no id of issues"},
                {"created:yesterday", "must be a day"},
                {"created:7d", "must be a day"},
                {"created>99999999d", "must be a time"},
                {"created>2026-01-02 created<2026-01-02", "no time is within"},
                {"created>2026-01-02 created>2026-01-03", "has this bound already"},
                {"created:2026-01-02 created<7d", "has this bound already"},
                {"prefix:x", "prefix is for lists"},
                {"a\x01", "at character 2: a control character"},
                {"a\0b", "at character 2: a control character", 3},
                {"a \xff", "at character 3: a byte that is not UTF-8"},
                {"\x7f", "a control character"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                size_t n = rows[i].n ? rows[i].n : strlen(rows[i].text);
                MemoryQuery q = QUERY_NULL;
                Diag d = {""};
                int r = query_parse(rows[i].text, n, 0, NOW, &q, &d);

                cr_expect_eq(r, strstr(rows[i].says, "an empty") ? QUERY_E_EMPTY : QUERY_E_BAD, "%s: %d", rows[i].text, r);
                cr_expect(strstr(d.text, rows[i].says), "%s: %s", rows[i].text, d.text);
                cr_expect(q.n_terms == 0 && !q.bag);
        }
}

// M-13, M-14: bounds, each at its edge.
Test(query, bounds) {
        char text[QUERY_BYTES_MAX + 2];
        unsigned limit;
        Diag d;

        for (uint64_t said = 0; said < 103; said++) {
                cr_expect_eq(query_limit(said, &limit, &d), said >= 1 && said <= 100 ? 0 : QUERY_E_BAD);
                if (said >= 1 && said <= 100)
                        cr_expect_eq(limit, said);
        }
        for (unsigned words = 60; words < 70; words++) {
                _cleanup_query_ MemoryQuery q = QUERY_NULL;
                size_t n = 0;

                for (unsigned i = 0; i < words; i++)
                        n += (size_t)snprintf(text + n, sizeof(text) - n, "x%u ", i);
                cr_expect_eq(query_parse(text, n, 7, NOW, &q, &d), words <= RANK_TERMS_MAX ? 0 : QUERY_E_BAD, "%u words: %s", words, d.text);
                if (words <= RANK_TERMS_MAX)
                        cr_expect(q.limit == 7 && q.n_terms == words);
        }
        for (unsigned phrases = QUERY_PHRASES_MAX; phrases <= QUERY_PHRASES_MAX + 1; phrases++) {
                _cleanup_query_ MemoryQuery q = QUERY_NULL;
                size_t n = 0;

                for (unsigned i = 0; i < phrases; i++)
                        n += (size_t)snprintf(text + n, sizeof(text) - n, "\"a b\" ");
                cr_expect_eq(query_parse(text, n, 0, NOW, &q, &d), phrases <= QUERY_PHRASES_MAX ? 0 : QUERY_E_BAD);
        }
        for (size_t n = QUERY_BYTES_MAX; n <= QUERY_BYTES_MAX + 1; n++) {
                _cleanup_query_ MemoryQuery q = QUERY_NULL;

                memset(text, ' ', sizeof(text));
                text[0] = 'x';
                cr_expect_eq(query_parse(text, n, 0, NOW, &q, &d), n <= QUERY_BYTES_MAX ? 0 : QUERY_E_BAD);
        }
}

static uint64_t moment(const char *text) {
        uint64_t at;

        cr_assert_eq(clock_parse_moment(text, NOW, &at), 0);
        return at;
}

// M-13: kind, lifecycle, created range, ref-to, text prefix; all must hold, and what is not said takes all.
Test(query, filters) {
        static const struct {
                const char *text;
                bool takes; /* the one record below */
        } rows[] = {
                {"", true},
                {"kind:memory", true},
                {"kind:memory_substrate", true},
                {"kind:knowledge,memory", true},
                {"kind:canon", false},
                {"type:semantic", true},
                {"type:episodic,semantic", true},
                {"type:episodic", false},
                {"state:archived", true},
                {"state:active,removed", false},
                {"id:m-1", true},
                {"id:m-10", false},
                {"created:2026-03-04", true},
                {"created:2026-03-03", false},
                {"created:2026-03-05", false},
                {"created>2026-03-04T10:00", false},
                {"created>=2026-03-04T10:00", true},
                {"created<2026-03-04T10:00", false},
                {"created<=2026-03-04T10:00", true},
                {"created>2026-03-01 created<2026-03-05T00:00:00Z", true},
                {"created>1d", false},
                {"created<1d", true},
                {"prefix:The", true},
                {"prefix:\"The house \"", true},
                {"prefix:the", false},
                {"kind:memory type:semantic state:archived id:m-1 created:2026-03-04 prefix:The", true},
                {"kind:memory type:semantic state:archived id:m-1 created:2026-03-04 prefix:That", false},
        };
        static const char text[] = "The house is red.";

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                RecordFilter f;
                Diag d = {""};
                bool takes;

                cr_assert_eq(filter_parse(rows[i].text, strlen(rows[i].text), NOW, &f, &d), 0, "%s: %s", rows[i].text, d.text);
                takes = filter_takes_kind(&f, KIND_MEMORY, "semantic") && filter_takes_state(&f, RECORD_ARCHIVED) && filter_takes_id(&f, "m-1") &&
                        filter_takes_time(&f, moment("2026-03-04T10:00")) && filter_takes_text(&f, text, strlen(text));
                cr_expect_eq(takes, rows[i].takes, "%s", rows[i].text);
        }
}

// M-13: what a list alone takes, what it refuses, and ref-to.
Test(query, lists) {
        RecordFilter f;
        Diag d = {""};
        char text[FILTER_PREFIX_MAX + 9] = "prefix:";

        cr_assert_eq(filter_parse("state:removed ref:issues/import_blocker", 39, NOW, &f, &d), 0, "%s", d.text);
        cr_expect_eq(f.ref_kind, KIND_ISSUE);
        cr_expect_str_eq(f.ref_id, "import_blocker");
        cr_expect(filter_takes_state(&f, RECORD_REMOVED));
        cr_expect_eq(filter_parse("kind:memory word", 16, NOW, &f, &d), QUERY_E_BAD);
        cr_expect(strstr(d.text, "at character 13: a list takes fields"), "%s", d.text);
        cr_expect_eq(filter_parse("\"a phrase\"", 10, NOW, &f, &d), QUERY_E_BAD);
        memset(text + 7, 'x', FILTER_PREFIX_MAX + 1);
        cr_expect_eq(filter_parse(text, 7 + FILTER_PREFIX_MAX, NOW, &f, &d), 0);
        cr_expect_eq(filter_parse(text, 8 + FILTER_PREFIX_MAX, NOW, &f, &d), QUERY_E_BAD);
        cr_assert_eq(filter_parse("kind:canon,ccs,kernel,memory,knowledge,skill,issues", 51, NOW, &f, &d), 0, "%s", d.text);
        for (const Kind *k = kinds; *k != KIND_NONE; k++)
                cr_expect_eq(filter_takes_kind(&f, *k, ""), *k != KIND_WORKING, "%s", kind_name(*k));
}

// M-14: every phrase is to be in one of the texts.
Test(query, phrases_in_texts) {
        static const char *const texts[] = {"The house is red", "and the garden", ""};
        static const struct {
                const char *query;
                bool in;
        } rows[] = {{"\"house is\"", true}, {"\"house is\" \"The GARDEN\"", true}, {"\"red and\"", false}, {"\"house is\" \"is house\"", false}, {"nowhere", true}};
        size_t lengths[3];

        for (size_t i = 0; i < 3; i++)
                lengths[i] = strlen(texts[i]);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_query_ MemoryQuery q = QUERY_NULL;

                cr_assert_eq(query_parse(rows[i].query, strlen(rows[i].query), 0, NOW, &q, NULL), 0);
                cr_expect_eq(query_phrases_in(&q, texts, lengths, 3), rows[i].in, "%s", rows[i].query);
        }
}
