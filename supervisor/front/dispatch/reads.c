/* Runs: supervisor. A region's reads of shared belief and of typed memory: each record with its versions, once (I-77).
 * Reads are many and change no state, so the dispatch collects reads and records them in the transaction of the
 * region's end (I-37). belief.read and memory.read have the number of requests, the number of rows, and `read`: {scope:
 * {kind: {id: [version…]}}}. Reads are bounded, because no region may write the ledger without end: reads beyond the
 * bound are counted in `more`. Lineage detail `stats` keeps only the numbers. */
#include "dispatch/dispatch-internal.h"

#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READS_MAX 8192 /* of one invocation and kind of read */
#define ENTRY_READS_BYTES 48000 /* an entry of the ledger has at most 65,535 bytes */

/* The object under a key, made when missing. */
static json_t *reads_below(json_t *o, const char *key) {
        json_t *sub = json_object_get(o, key);

        if (!sub && json_object_set_new(o, key, sub = json_object()) < 0)
                return NULL;
        return sub;
}

static bool reads_have_version(const json_t *list, uint64_t version) {
        for (size_t i = json_array_size(list); i-- > 0;) {
                uint64_t v;

                if (json_get_u64(json_array_get(list, i), &v) == 0 && v == version)
                        return true;
        }
        return false;
}

int dispatch_read(Dispatch *d, DispatchReads *r, const char *scope, const char *kind, const char *id,
                     uint64_t version) {
        json_t *families, *ids, *list;

        /* the region's own writes are no reads */
        if (d->grant->lineage == LINEAGE_STATS || dispatch_memory_is_held(d, scope, kind, id, version))
                return 0;
        if (!r->of && !(r->of = json_object()))
                return -ENOMEM;
        list = json_object_get(json_object_get(json_object_get(r->of, scope), kind), id);
        if (reads_have_version(list, version))
                return 0;
        if (r->n >= READS_MAX) {
                r->more++;
                return 0;
        }
        families = reads_below(r->of, scope);
        ids = families ? reads_below(families, kind) : NULL;
        if (!ids || (!list && json_object_set_new(ids, id, list = json_array()) < 0) ||
            json_array_append_new(list, json_u64(version)) < 0)
                return -ENOMEM;
        r->n++;
        return 0;
}

int dispatch_read_rows(Dispatch *d, DispatchReads *r, const char *scope, const char *kind, const char *id,
                       const json_t *rows) {
        for (size_t i = 0; i < json_array_size(rows); i++) {
                const json_t *row = json_array_get(rows, i);
                const char *of = json_text(json_object_get(row, "kind")) ?: json_text(json_object_get(row, "bucket")),
                           *name = json_text(json_object_get(row, "id"));
                uint64_t version;
                int e = json_get_u64(json_object_get(row, "version"), &version);

                /* a change that the region made itself */
                if (e == 0 && !json_text_is(json_object_get(row, "region"), d->region))
                        e = dispatch_read(d, r, scope, of ?: kind, name ?: id, version);
                if (e == -ENOMEM)
                        return e;
        }
        return 0;
}

/* The list of reads in one ledger entry; the next entry continues the list. */
typedef struct ReadsEntry {
        Txn *t;
        const char *region, *type;
        json_t *fields, *read; /* owned; read is in fields, borrowed */
        size_t bytes;
} ReadsEntry;

static int reads_put_entry(ReadsEntry *e) {
        int r = engine_event(e->t, e->region, e->type, e->fields, NULL);

        json_decref(e->fields);
        e->fields = json_pack("{s:b, s:{}}", "further", 1, "read");
        e->read = json_object_get(e->fields, "read");
        e->bytes = 0;
        return r < 0 ? r : e->fields ? 0 : -ENOMEM;
}

static int reads_put_record(ReadsEntry *e, const char *scope, const char *kind, const char *id, json_t *versions) {
        size_t bytes = strlen(scope) + strlen(kind) + strlen(id) + 16 + 17 * json_array_size(versions);
        json_t *families, *ids;
        int r = e->bytes + bytes > ENTRY_READS_BYTES && e->bytes > 0 ? reads_put_entry(e) : 0;

        if (r < 0)
                return r;
        families = reads_below(e->read, scope);
        ids = families ? reads_below(families, kind) : NULL;
        e->bytes += bytes;
        return ids && json_object_set(ids, id, versions) == 0 ? 0 : -ENOMEM;
}

int dispatch_reads_put(Dispatch *d, Txn *t, const char *type, json_t *summary, const DispatchReads *reads) {
        ReadsEntry e = {.t = t, .region = d->region, .type = type, .fields = summary, .read = json_object()};
        const char *scope, *kind, *id;
        json_t *families, *ids, *versions;
        int r = summary ? 0 : -ENOMEM;

        if (r == 0 && d->grant->lineage != LINEAGE_STATS &&
            (json_object_set(summary, "read", e.read) < 0 ||
             (reads->more > 0 && json_object_set_new(summary, "more", json_u64(reads->more)) < 0)))
                r = -ENOMEM;
        json_decref(e.read);
        json_object_foreach(reads->of, scope, families)
                json_object_foreach(families, kind, ids)
                        json_object_foreach(ids, id, versions)
                                if (r == 0)
                                        r = reads_put_record(&e, scope, kind, id, versions);
        if (r == 0)
                r = engine_event(t, d->region, type, e.fields, NULL);
        json_decref(e.fields);
        return r;
}

int dispatch_record_given(Txn *t, const Grant *grant, const char *region, const json_t *given) {
        const json_t *rows = json_object_get(given, "rows");
        const char *scope = json_text(json_object_get(given, "scope"));
        Dispatch d = {.grant = grant};
        DispatchReads reads = {0};
        json_t *summary;
        int r;

        snprintf(d.region, sizeof(d.region), "%s", region);
        summary = json_pack("{s:i, s:o, s:O, s:O}", "count", 1, "rows", json_u64(json_array_size(rows)), "run",
                            json_object_get(given, "run"), "note", json_object_get(given, "note"));
        r = summary && scope ? dispatch_read_rows(&d, &reads, scope, NULL, NULL, rows) : -ENOMEM;
        if (r == 0)
                r = dispatch_reads_put(&d, t, "context.read", summary, &reads);
        else
                json_decref(summary);
        dispatch_reads_deinit(&reads);
        return r;
}
