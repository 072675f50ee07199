#include "belief/bucket.h"

#include "index/index.h"
#include "index/lexicon.h"
#include "index/lists.h"
#include "engine/payload.h"

#include <errno.h>
#include <string.h>

void bucket_row_free(BucketRow *row) {
        if (!row)
                return;
        evidence_row_deinit(&row->evidence);
        free(row->title);
        free(row);
}

Bucket bucket_of(Txn *t, uint64_t scope, Kind kind) {
        return (Bucket){.txn = t, .scope = scope, .kind = kind};
}

void bucket_deinit(Bucket *b) {
        for (size_t i = 0; i < b->room; i++)
                bucket_row_free(b->rows[i]);
        free(b->rows);
        lexicon_free(b->lexicon);
        *b = (Bucket){0};
}

/* Counts rows with the term in any searched field, so that terms of aliases and phrases count as well. */
static int bucket_count_rows(void *user, uint32_t number, const char *term, size_t n, uint64_t *ret) {
        const Bucket *b = user;
        int r = 0;

        if (b->counting)
                return lists_count(b->counting, b->txn, b->scope, (uint8_t)b->kind, b->fields,
                                   &(RankTerm){.p = term, .n = (uint8_t)n}, number, ret);
        *ret = 0;
        for (uint8_t f = 0; f < INDEX_FIELDS && r == 0; f++) {
                uint64_t rows;

                if (!(b->fields >> f & 1))
                        continue;
                r = index_df(b->txn, b->scope, (uint8_t)b->kind, f, term, n, &rows);
                if (r == 0)
                        *ret = MAX(*ret, rows);
        }
        return r;
}

int bucket_lexicon(Bucket *b, Lexicon **ret) {
        IndexStats stats;
        int r = index_stats(b->txn, b->scope, (uint8_t)b->kind, &stats);

        if (r == 0 && !b->lexicon) {
                Tokenizer *bag;

                r = index_bag(b->txn, &bag) ?: lexicon_new(bucket_count_rows, b, bag, &b->lexicon);
        }
        if (r < 0)
                return r;
        if (!b->counted)
                lexicon_rows(b->lexicon, stats.docs);
        b->counted = true;
        b->fields = 0;
        for (unsigned f = 0; f < INDEX_FIELDS; f++)
                if (stats.field[f].docs > 0)
                        b->fields |= 1U << f;
        b->fields &= 1U << INDEX_TEXT | 1U << INDEX_ALIAS | 1U << INDEX_PHRASE;
        *ret = b->lexicon;
        return stats.docs > 0;
}

/* The slot of the number, or the free slot where the number belongs. The table always has a free slot. */
static BucketRow **bucket_place(const Bucket *b, uint64_t number) {
        size_t i = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (b->room - 1);

        while (b->rows[i] && b->rows[i]->number != number)
                i = (i + 1) & (b->room - 1);
        return &b->rows[i];
}

static int bucket_make_room(Bucket *b) {
        Bucket more = {.room = b->room ? 2 * b->room : 64};

        if (2 * (b->n + 1) <= b->room)
                return 0;
        more.rows = calloc(more.room, sizeof(*more.rows));
        if (!more.rows)
                return -ENOMEM;
        for (size_t i = 0; i < b->room; i++)
                if (b->rows[i])
                        *bucket_place(&more, b->rows[i]->number) = b->rows[i];
        free(b->rows);
        b->rows = more.rows;
        b->room = more.room;
        return 0;
}

static int bucket_read_row(Bucket *b, const Record *rec, BucketRow **ret) {
        _cleanup_json_ json_t *payload = NULL;
        _cleanup_free_ char *text = NULL;
        BucketRow *row = NULL;
        const char *title, *agent = json_text(json_object_get(rec->row, "agent"));
        size_t n_text;
        int r = record_payload(b->txn, rec, &payload) ?: payload_text(payload, &text, &n_text);

        if (r < 0)
                return r;
        title = json_text(
                json_object_get(payload, payload_main(b->kind, b->kind == KIND_DECISION ? OP_APPEND : OP_UPSERT)));
        row = calloc(1, sizeof(*row));
        if (!row)
                return -ENOMEM;
        row->number = rec->created;
        row->state = rec->state;
        memcpy(row->id, rec->key.id, sizeof(row->id));
        row->agent = agent && *agent ? pair_name(agent, strlen(agent)) : 0;
        row->title = strdup(title ? title : "");
        r = !row->title ? -ENOMEM
                        : evidence_row_init(b->lexicon, row->id, row->title, text, json_object_get(rec->row, "aliases"),
                                            json_object_get(rec->row, "phrases"), &row->evidence);
        if (r < 0) {
                bucket_row_free(row);
                return r;
        }
        *ret = row;
        return 0;
}

int bucket_row(Bucket *b, const char *id, const BucketRow **ret) {
        _cleanup_record_ Record rec = RECORD_NULL;
        BucketRow **at;
        RecordKey key;
        int r;

        if (b->last && strcmp(b->last->id, id) == 0) {
                *ret = b->last;
                return 0;
        }
        key = record_key_of(b->scope, b->kind, id);
        r = record_get(b->txn, &key, &rec) ?: bucket_make_room(b);
        if (r < 0)
                return r;
        at = bucket_place(b, rec.created);
        if (!*at || !(*at)->title) {
                BucketRow *row;

                r = bucket_read_row(b, &rec, &row);
                if (r < 0)
                        return r;
                b->n += !*at;
                bucket_row_free(*at);
                *at = row;
        }
        *ret = b->last = *at;
        return 0;
}

/* The id of the row with this number in the index. */
static int bucket_id(const Bucket *b, uint64_t number, char ret[static RECORD_ID_MAX]) {
        DocReader doc;
        Bytes v;
        int r = index_doc(b->txn, b->scope, (uint8_t)b->kind, number, &v) ?: doc_open(v, &doc);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (doc.n_id >= RECORD_ID_MAX)
                return -EUCLEAN;
        memcpy(ret, doc.id, doc.n_id);
        ret[doc.n_id] = '\0';
        return record_id_valid(b->kind, ret) ? 0 : -EUCLEAN;
}

int bucket_numbered(Bucket *b, uint64_t number, const BucketRow **ret) {
        const BucketRow *there = b->room > 0 ? *bucket_place(b, number) : NULL;
        char id[RECORD_ID_MAX];
        int r;

        if (there && there->title) {
                *ret = b->last = there;
                return 0;
        }
        r = bucket_id(b, number, id) ?: bucket_row(b, id, ret);
        return r < 0 ? r : (*ret)->number == number ? 0 : -EUCLEAN;
}

int bucket_take(Bucket *b, const char *id, BucketRow **ret) {
        const BucketRow *row;
        BucketRow *unread;
        Lexicon *l;
        int r = bucket_lexicon(b, &l);

        *ret = NULL;
        if (r < 0)
                return r;
        b->counted = false;
        r = bucket_row(b, id, &row);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        b->last = NULL;
        unread = calloc(1, sizeof(*unread));
        if (!unread)
                return -ENOMEM;
        unread->number = row->number;
        *ret = *bucket_place(b, row->number);
        *bucket_place(b, row->number) = unread;
        return 0;
}

static Circumstance bucket_facts(const uint64_t *agent, uint64_t number) {
        return (Circumstance){.order = number, .agent = *agent, .people = agent, .n_people = *agent != 0};
}

Pair bucket_pair(const BucketRow *row, ResolveCandidate *c) {
        return (Pair){.candidate = c, .row = &row->evidence, .facts = bucket_facts(&row->agent, row->number)};
}

int bucket_compare(Lexicon *l, const ResolveEvidence *e, const ResolveQuestion *asked, const Pair *pairs, size_t n) {
        uint64_t agent = asked->agent && *asked->agent ? pair_name(asked->agent, strlen(asked->agent)) : 0;
        const Circumstance note = bucket_facts(&agent, UINT64_MAX);

        return op_ends(asked->op) && !asked->target ? pairs_weigh(l, e, &note, pairs, n) : 0;
}
