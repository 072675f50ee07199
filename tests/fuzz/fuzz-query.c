/* The languages of search and list. First byte: which; the rest: the text. What is refused has words for it and leaves nothing behind; what is taken keeps
 * to its bounds, and a text that is made of nothing but the query's phrases has them. */
#include "memory/query.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define NOW UINT64_C(1800000000000000)

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_filter(const RecordFilter *f) {
        fuzz_check(f->n_kinds <= FILTER_KINDS_MAX && strlen(f->prefix) <= FILTER_PREFIX_MAX);
        for (size_t i = 0; i < f->n_kinds; i++)
                fuzz_check(f->kinds[i] != KIND_WORKING && kind_name(f->kinds[i]) && filter_takes_kind(f, f->kinds[i], "semantic") | (f->types != 0));
        fuzz_check(!f->created_until || f->created_from < f->created_until);
        fuzz_check(f->ref_kind == KIND_NONE || record_id_valid(f->ref_kind, f->ref_id));
        fuzz_check(!filter_takes_kind(f, KIND_WORKING, "") || f->n_kinds == 0);
}

static void check_query(const MemoryQuery *q) {
        fuzz_check(q->limit >= 1 && q->limit <= QUERY_LIMIT_MAX && q->n_terms <= RANK_TERMS_MAX && (q->n_terms > 0 || q->filter.said));
        fuzz_check(!filter_takes_state(&q->filter, RECORD_REMOVED) || q->filter.states == 0);
        for (size_t i = 0; i < q->n_terms; i++) {
                fuzz_check(q->terms[i].n > 0 && q->terms[i].n <= TERM_BYTES_MAX);
                for (size_t k = 0; k < i; k++)
                        fuzz_check(q->terms[k].n != q->terms[i].n || memcmp(q->terms[k].p, q->terms[i].p, q->terms[i].n) != 0);
        }
        for (size_t i = 0; i < q->n_phrases; i++)
                fuzz_check(tokenizer_have_phrase(q->phrases[i], strlen(q->phrases[i]), q->phrases[i], strlen(q->phrases[i])), "%s", q->phrases[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *text = (const char *)data + 1;
        Diag d = {""};
        int r;

        if (n < 1 || n > 8192)
                return 0;
        if (data[0] % 2) {
                _cleanup_query_ MemoryQuery q = QUERY_NULL;

                r = query_parse(text, n - 1, data[0] / 2, NOW, &q, &d);
                if (r == 0) {
                        check_filter(&q.filter);
                        check_query(&q);
                } else
                        fuzz_check(!q.bag && q.n_terms == 0);
        } else {
                RecordFilter f = {0};

                r = filter_parse(text, n - 1, NOW, &f, &d);
                if (r == 0)
                        check_filter(&f);
                else
                        fuzz_check(!f.said);
        }
        fuzz_check(r == 0 || (r > 0 && *d.text && utf8_valid(d.text, strlen(d.text), NULL)), "%d", r);
        return 0;
}
