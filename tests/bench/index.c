/* Runs: benchmarks. The term index over many documents of about 30 words each, whose frequencies are Zipf's: what a put costs beside LMDB's puts
 * of the same rows in an environment of its own, within the transaction and with its commit, 64 documents in each; what taking out and putting
 * back costs; and searches for two words.
 *
 *   index DIR DOCUMENTS SEARCHES */
#include "stats.h"

#include "index/rank.h"

#include <lmdb.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH 64
#define WORDS 20000
#define SCOPE 1
#define KIND 0x41
#define ROWS_MAX 96

static char words[WORDS][12];
static double zipf[WORDS]; /* sums */
static uint64_t seed = 5;
static Store *store;
static Tokenizer *bag;
static MDB_env *raw;
static MDB_dbi raw_dbi[2];

_noreturn_ static void fail(const char *what, const char *why) {
        fprintf(stderr, "index: %s: %s\n", what, why);
        exit(1);
}

static void check(int r, const char *what) {
        if (r < 0)
                fail(what, store_strerror(r));
}

static void lmdb(int r, const char *what) {
        if (r != 0)
                fail(what, mdb_strerror(r));
}

static uint32_t random_below(uint32_t n) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)((seed >> 33) % n);
}

static void make_words(void) {
        static const char consonants[] = "bcdfghklmnprstvz", vowels[] = "aeiou";
        double sum = 0;

        for (unsigned i = 0; i < WORDS; i++) {
                unsigned v = i, n = 0;

                for (unsigned k = 0; k < 3 || v > 0; k++) {
                        words[i][n++] = consonants[v % 16];
                        words[i][n++] = vowels[v / 16 % 5];
                        v /= 80;
                }
                sum += 1 / pow(i + 1, 1.05);
                zipf[i] = sum;
        }
}

static unsigned random_word(void) {
        double at = zipf[WORDS - 1] * random_below(1U << 30) / (1U << 30);
        unsigned low = 0, high = WORDS - 1;

        while (low < high) {
                unsigned mid = (low + high) / 2;

                if (zipf[mid] < at)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static size_t make_text(char out[static 1024]) {
        size_t n = 0;

        for (unsigned i = 20 + random_below(20); i > 0; i--)
                n += (size_t)snprintf(out + n, 1024 - n, "%s ", words[random_word()]);
        return n;
}

static void open_raw(const char *path) {
        static const char *const names[] = {"term", "doc"};
        MDB_txn *t;

        lmdb(mdb_env_create(&raw), "raw");
        mdb_env_set_maxdbs(raw, 4);
        mdb_env_set_mapsize(raw, (size_t)16 << 30);
        lmdb(mkdir(path, 0700) < 0, path);
        lmdb(mdb_env_open(raw, path, 0, 0600), path);
        lmdb(mdb_txn_begin(raw, NULL, 0, &t), "raw");
        for (unsigned i = 0; i < 2; i++)
                lmdb(mdb_dbi_open(t, names[i], MDB_CREATE, &raw_dbi[i]), names[i]);
        lmdb(mdb_txn_commit(t), "raw");
}

/* Rows as the index has written them for one document. */
typedef struct Row {
        unsigned table;
        MDB_val key, value;
} Row;
static Row rows[BATCH][ROWS_MAX];
static size_t n_rows[BATCH];

static void keep_row(Txn *t, size_t doc, Table table, const uint8_t *key, size_t n) {
        Row *row = &rows[doc][n_rows[doc]++];
        Bytes v;

        check(table_get(t, table, BYTES(key, n), &v), "row");
        *row = (Row){.table = table == TABLE_DOC, .key = {n, memcpy(malloc(n), key, n)}, .value = {v.n, memcpy(malloc(v.n), v.p, v.n)}};
}

static void keep_rows(Txn *t, size_t doc, uint64_t number) {
        uint8_t k[TERM_KEY_MAX];
        size_t n;
        const Term *terms = tokenizer_sorted(bag, &n);

        for (size_t i = 0; i < n && i < ROWS_MAX - 3; i++) {
                size_t len = term_key(SCOPE, KIND, terms[i].field, terms[i].p, terms[i].n, k);

                be64_put(k + len, number >> 8);
                keep_row(t, doc, TABLE_TERM, k, len + 8);
        }
        ids_key(SCOPE, KIND, number, k);
        keep_row(t, doc, TABLE_TERM, k, IDS_KEY_BYTES);
        doc_key(SCOPE, KIND, number, k);
        keep_row(t, doc, TABLE_DOC, k, DOC_KEY_BYTES);
        doc_key(SCOPE, KIND, 0, k);
        keep_row(t, doc, TABLE_DOC, k, DOC_KEY_BYTES);
}

/* The same rows, in the same order. Returns nanoseconds without the commit, *ret_all with it. */
static uint64_t put_raw(size_t n, uint64_t *ret_all) {
        uint64_t begun = bench_nsec(), put;
        MDB_txn *t;

        lmdb(mdb_txn_begin(raw, NULL, 0, &t), "raw");
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n_rows[i]; k++)
                        lmdb(mdb_put(t, raw_dbi[rows[i][k].table], &rows[i][k].key, &rows[i][k].value, 0), "raw put");
        put = bench_nsec() - begun;
        lmdb(mdb_txn_commit(t), "raw commit");
        *ret_all = bench_nsec() - begun;
        for (size_t i = 0; i < n; i++)
                for (; n_rows[i] > 0; n_rows[i]--) {
                        free(rows[i][n_rows[i] - 1].key.mv_data);
                        free(rows[i][n_rows[i] - 1].value.mv_data);
                }
        return put;
}

static Txn *begin(bool writes) {
        Diag d = {};
        Txn *t;

        if (store_begin(store, writes, &t, &d) != 0)
                fail("store", d.text);
        return t;
}

/* As a projection does: what it has written could be taken back. */
static void put_one(Txn *t, uint64_t number, const char *text, size_t n) {
        char id[32];
        Save save;

        table_save(t, &save);
        tokenizer_clear(bag);
        check(tokenizer_add(bag, INDEX_TEXT, text, n), "terms");
        snprintf(id, sizeof id, "m-%llu", (unsigned long long)number);
        check(index_put(t, SCOPE, KIND, number, id, bag), "put");
        table_keep(t, &save);
}

typedef struct Samples {
        uint64_t *put, *all, *raw_put, *raw_all, *terms, *again;
        size_t n;
} Samples;

/* Texts are made before, and rows kept after: neither is in a sample. */
static void put_batch(Samples *s, uint64_t first, size_t n) {
        static char texts[BATCH][1024];
        static size_t lengths[BATCH];
        uint64_t at, begun, put = 0, terms;
        Diag d = {};
        Txn *t;

        for (size_t i = 0; i < n; i++)
                lengths[i] = make_text(texts[i]);
        begun = bench_nsec();
        for (size_t i = 0; i < n; i++) {
                tokenizer_clear(bag);
                check(tokenizer_add(bag, INDEX_TEXT, texts[i], lengths[i]), "terms");
        }
        terms = bench_nsec() - begun;
        begun = bench_nsec();
        t = begin(true);
        put = bench_nsec() - begun;
        for (size_t i = 0; i < n; i++) {
                begun = bench_nsec();
                put_one(t, first + i, texts[i], lengths[i]);
                put += bench_nsec() - begun;
                keep_rows(t, i, first + i);
        }
        begun = bench_nsec();
        if (store_commit(t, &d) != 0)
                fail("commit", d.text);
        s->all[s->n] = put + bench_nsec() - begun;
        s->put[s->n] = put;
        s->terms[s->n] = terms;
        s->raw_put[s->n] = put_raw(n, &s->raw_all[s->n]);

        t = begin(true);
        at = first > 1000 ? random_below((uint32_t)first) : 0;
        begun = bench_nsec();
        for (size_t i = 0; i < n; i++) {
                uint64_t number = at ? at : first + i;
                Bytes row;

                at = at ? 1 + (at * 7919) % (first - 1) : 0;
                if (index_doc(t, SCOPE, KIND, number, &row) == 0)
                        check(index_del(t, SCOPE, KIND, number), "delete");
                put_one(t, number, texts[i], lengths[i]);
        }
        s->again[s->n++] = bench_nsec() - begun;
        if (store_commit(t, &d) != 0)
                fail("commit", d.text);
}

/* Records of one shape, as a program writes them: each has the word as often, and is as long, so that their ids alone tell them apart. */
static void search_alike(size_t documents, size_t n) {
        uint64_t *nsec = calloc(n, sizeof *nsec);
        RankTerm term = {.p = "alfa", .n = 4};
        uint8_t kind = KIND + 1;
        RankQuery q = {.scope = SCOPE, .kinds = &kind, .n_kinds = 1, .fields = 1U << INDEX_TEXT, .terms = &term, .n_terms = 1, .most = 10};
        RankHit ret[10];
        Diag d = {};
        Txn *t = begin(true);

        tokenizer_clear(bag);
        check(tokenizer_add(bag, INDEX_TEXT, "alfa bravo", 10), "terms");
        for (uint64_t i = 1; i <= documents; i++) {
                char id[32];

                snprintf(id, sizeof id, "record-%07llu", (unsigned long long)((i * 7919) % 10000000));
                check(index_put(t, SCOPE, kind, i, id, bag), "put");
        }
        if (store_commit(t, &d) != 0)
                fail("commit", d.text);
        t = begin(false);
        for (size_t i = 0; i < n; i++) {
                uint64_t begun = bench_nsec();
                size_t found;

                check(rank_bm25(t, &q, ret, &found), "search");
                nsec[i] = bench_nsec() - begun;
        }
        store_abort(t);
        bench_print("search, a word that all have alike", nsec, n, 1);
        free(nsec);
}

/* Two words each: of those ranks, or as they come in the texts. */
static void search(const char *name, size_t n, unsigned least, unsigned most) {
        uint64_t *nsec = calloc(n, sizeof *nsec), hits = 0;
        uint8_t kind = KIND;
        RankHit ret[10];
        Txn *t = begin(false);

        for (size_t i = 0; i < n; i++) {
                RankTerm terms[2];
                RankQuery q = {.scope = SCOPE, .kinds = &kind, .n_kinds = 1, .fields = 1U << INDEX_TEXT, .terms = terms, .most = 10};
                uint64_t begun = bench_nsec();
                const Term *sorted;
                size_t found;
                char text[64];

                snprintf(text, sizeof text, "%s %s", words[most ? least + random_below(most - least) : random_word()],
                         words[most ? least + random_below(most - least) : random_word()]);
                tokenizer_clear(bag);
                check(tokenizer_add(bag, 0, text, strlen(text)), "terms");
                sorted = tokenizer_sorted(bag, &q.n_terms);
                for (size_t k = 0; k < q.n_terms; k++)
                        terms[k] = (RankTerm){.p = sorted[k].p, .n = sorted[k].n};
                check(rank_bm25(t, &q, ret, &found), "search");
                hits += found;
                nsec[i] = bench_nsec() - begun;
        }
        store_abort(t);
        bench_print(name, nsec, n, 1);
        free(nsec);
        if (hits == 0)
                fail(name, "nothing was found");
}

int main(int argc, char **argv) {
        size_t documents = argc == 4 ? strtoul(argv[2], NULL, 10) : 0, searches = argc == 4 ? strtoul(argv[3], NULL, 10) : 0, batches = documents / BATCH;
        Samples s = {};
        Diag d = {};
        char path[4096];

        if (batches == 0 || searches == 0) {
                fprintf(stderr, "usage: index DIR DOCUMENTS SEARCHES\n");
                return 2;
        }
        for (uint64_t **p = &s.put; p <= &s.again; p++)
                *p = calloc(batches, sizeof **p);
        if (mkdir(argv[1], 0700) < 0)
                fail(argv[1], "cannot be made (a new folder is needed)");
        snprintf(path, sizeof path, "%s/raw", argv[1]);
        open_raw(path);
        snprintf(path, sizeof path, "%s/store", argv[1]);
        if (store_open(path, STORE_WRITE, &store, &d) != 0)
                fail("store", d.text);
        check(tokenizer_new(&bag), "terms");
        make_words();
        for (size_t i = 0; i < batches; i++)
                put_batch(&s, 1 + i * BATCH, BATCH);
        bench_print("text to terms, of these", s.terms, batches, BATCH);
        bench_print("put into the index, in the transaction", s.put, batches, BATCH);
        bench_print("LMDB, the same rows, in the transaction", s.raw_put, batches, BATCH);
        bench_print("put into the index, 64 a commit", s.all, batches, BATCH);
        bench_print("LMDB, the same rows, 64 a commit", s.raw_all, batches, BATCH);
        bench_print("taken out and put in again as another", s.again, batches, BATCH);
        search("search, two words as they come in texts", searches, 0, 0);
        search("search, two of the 20 most common words", searches, 0, 20);
        search("search, two words of rank 100 to 1000", searches, 100, 1000);
        search("search, two words of rank 5000 to 20000", searches, 5000, 20000);
        search_alike(documents, searches);
        for (uint64_t **p = &s.put; p <= &s.again; p++)
                free(*p);
        tokenizer_free(bag);
        store_free(store);
        mdb_env_close(raw);
        return 0;
}
