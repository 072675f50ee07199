#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "tests/state/store/write-log.h"
#include "tests/support/store-fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define IMAGE_MAX (4UL << 20)
#define SECTOR 512

/* What a disk may hold after a power cut: all writes before the last sync, and any of those after it, each whole or
 * torn at a sector. */
typedef struct Disk {
        uint8_t *bytes;
        size_t n;
} Disk;

/* data.mdb, redo. */
static const char *const names[] = {"data.mdb", "redo"};
#define FILES ARRAY_SIZE(names)
static const size_t sizes[FILES] = {IMAGE_MAX, 256UL << 10};

static void put(Disk *disk, const Op *o, size_t skip, size_t n) {
        Disk *d = &disk[o->file];

        if (n == 0)
                return;
        cr_assert_leq(o->at + skip + n, sizes[o->file]);
        memcpy(d->bytes + o->at + skip, o->data + skip, n);
        d->n = MAX(d->n, o->at + skip + n);
}

static void copy(Disk *to, const Disk *from) {
        for (size_t i = 0; i < FILES; i++) {
                memcpy(to[i].bytes, from[i].bytes, from[i].n);
                to[i].n = from[i].n;
        }
}

static unsigned n_images;

/* The image must open, audit clean, and have all that was acknowledged. */
static void judge(StoreFixture *f, const Disk *d, uint64_t acknowledged, size_t cut, const char *variant,
                  uint64_t which) {
        _cleanup_free_ char *path = NULL;
        AuditReport a;
        Store *s;
        Diag why = {0};
        int r;

        n_images++;
        for (size_t i = 0; i < FILES; i++) {
                _cleanup_free_ char *file = NULL;

                cr_assert_geq(asprintf(&file, "%s/image/%s", f->temp.path, names[i]), 0);
                cr_assert_eq(io_write_file(AT_FDCWD, file, d[i].bytes, d[i].n, 0600, false), 0);
        }
        cr_assert_geq(asprintf(&path, "%s/image/lock.mdb", f->temp.path), 0);
        unlink(path);
        *strrchr(path, '/') = 0;
        r = store_open(path, STORE_READ, &s, &why);
        cr_assert_eq(r, 0, "cut %zu, %s %lu: does not open: %s", cut, variant, (unsigned long)which, why.text);
        r = audit_run(s, &a);
        cr_assert_eq(r, 0, "cut %zu, %s %lu: audit %d: entry %lu %s; expected %s; found %s", cut, variant,
                     (unsigned long)which, r, (unsigned long)a.seq, a.what, a.expected, a.found);
        cr_assert_geq(a.entries, acknowledged, "cut %zu, %s %lu: %lu entries of %lu acknowledged", cut, variant,
                      (unsigned long)which, (unsigned long)a.entries, (unsigned long)acknowledged);
        store_free(s);
}

static uint64_t rng = 88172645463325252ULL;

static uint64_t next_random(void) {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        return rng ^= rng << 17;
}

/* ops[from .. cut) were not yet synced when the power went. */
static void judge_subsets(StoreFixture *f, const Disk *synced, const Op *ops, size_t from, size_t cut,
                          uint64_t acknowledged) {
        static uint8_t bytes[IMAGE_MAX], redo[256UL << 10];
        const Op *open[64];
        size_t n = 0, all;
        Disk d[FILES] = {{bytes, 0}, {redo, 0}};

        for (size_t i = from; i < cut; i++)
                if (ops[i].kind == OP_WRITE && n < ARRAY_SIZE(open))
                        open[n++] = &ops[i];
        /* All subsets when they are few, sampled ones else: none, all, each alone, each left out, random. */
        all = n <= 4 ? (size_t)1 << n : 2 * n + 6;
        for (size_t k = 0; k < all; k++) {
                uint64_t set = n <= 4          ? k
                               : k == 0        ? 0
                               : k == 1        ? UINT64_MAX
                               : k < n + 2     ? UINT64_C(1) << (k - 2)
                               : k < 2 * n + 2 ? ~(UINT64_C(1) << (k - n - 2))
                                               : next_random();

                copy(d, synced);
                for (size_t i = 0; i < n; i++)
                        if (set >> i & 1)
                                put(d, open[i], 0, open[i]->n);
                judge(f, d, acknowledged, cut, "subset", set);
        }
        /* Torn: the last write did only its first, or only its last sectors. */
        if (n > 0 && open[n - 1]->n > SECTOR)
                for (size_t k = 0; k < 2; k++) {
                        size_t sectors = open[n - 1]->n / SECTOR, some = (size_t)(1 + next_random() % sectors) * SECTOR;

                        some = MIN(some, open[n - 1]->n - 1);
                        copy(d, synced);
                        for (size_t i = 0; i + 1 < n; i++)
                                put(d, open[i], 0, open[i]->n);
                        put(d, open[n - 1], k ? some : 0, k ? open[n - 1]->n - some : some);
                        judge(f, d, acknowledged, cut, "torn", some);
                }
}

/* The folder for the images: vkey, and the lock files of the store itself, so that a region that the power cut left
 * alive has a living supervisor, which audit asks for. */
static void make_image_folder(const StoreFixture *f) {
        _cleanup_free_ char *vkey = NULL;
        size_t n;

        cr_assert_eq(mkdirat(f->temp.fd, "image", 0700), 0);
        cr_assert_eq(symlinkat("../store/run", f->temp.fd, "image/run"), 0);
        cr_assert_eq(io_read_file(f->temp.fd, "store/vkey", 4096, &vkey, &n), 0);
        cr_assert_eq(io_write_file(f->temp.fd, "image/vkey", vkey, n, 0600, false), 0);
}

/* Told as soon as it is in the redo file, or when it is committed. */
static void commit(StoreFixture *f, Txn *t, bool ahead, uint64_t size) {
        if (ahead) {
                Txn *rest;

                cr_assert_eq(store_commit_ahead(t, &rest, &f->d), 0, "%s", f->d.text);
                write_log_mark(size);
                store_commit_rest(rest);
        } else {
                store_fixture_commit(f, t);
                write_log_mark(size);
        }
}

/* Work of all kinds: definitions, operator's writes, regions that end well and badly, values large enough for pages of
 * their own. */
static void work(StoreFixture *f, bool ahead) {
        _cleanup_json_ json_t *schema = json_object(), *none = json_object(),
                              *ended = json_pack("{s:s}", "outcome", "exited");
        uint64_t seq, version, size = 0;
        Txn *t;

        t = store_fixture_begin(f, true);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "w", schema, &seq, &f->d), 0);
        store_fixture_commit(f, t);
        write_log_mark(size = 2);
        for (int i = 0; i < 14; i++) {
                char id[REGION_ID_MAX], big[3000 * 3];
                _cleanup_json_ json_t *value = NULL, *copies = NULL;
                bool proposes = i % 3 != 2; /* what changed a slot is not told of ahead */
                RegionStart s = {.region = id,
                                 .skill_name = "s",
                                 .skill_digest = "sha256:0",
                                 .tier = "namespaces",
                                 .reads = (const char *[]){"w", NULL},
                                 .writes = (const char *[]){"w", NULL}};

                memset(big, 'x', sizeof(big));
                big[i % 3 ? 40 : sizeof(big) - 1] = 0;
                value = json_string(big);
                region_id_new(clock_real_usec(), id);
                t = store_fixture_begin(f, true);
                cr_assert_eq(engine_region_start(t, &s, &seq, &copies, &f->d), 0);
                commit(f, t, ahead, size += i == 0 ? 1 : 2);
                if (proposes) {
                        t = store_fixture_begin(f, true);
                        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = id, .name = "w", .value = value, .expect = -1}, &seq, &version, NULL, &f->d), 0);
                        commit(f, t, false, size += 1);
                }
                t = store_fixture_begin(f, true);
                cr_assert_eq(engine_region_end(t, &(RegionEnd){id, i % 4 != 3, none, ended}, NULL, NULL, &f->d), 0);
                commit(f, t, ahead, size += proposes ? 3 : 2);
        }
}

/* All of it that this sync, or this write through, is for; what is written over the same place before a write through is on the disk with it, or under it. */
static void settle(Disk *synced, Op *ops, size_t from, size_t i) {
        for (size_t k = from; k < i; k++)
                if (ops[k].kind == OP_WRITE && ops[k].file == ops[i].file && (ops[i].kind == OP_SYNC || ops[k].at < ops[i].at + ops[i].n)) {
                        put(synced, &ops[k], 0, ops[k].n);
                        ops[k].kind = OP_MARK;
                }
}

static void cut_power(bool ahead, unsigned keeps) {
        _cleanup_store_fixture_ StoreFixture f;
        static uint8_t bytes[IMAGE_MAX], redo[256UL << 10];
        uint64_t acknowledged = 1;
        Disk synced[FILES] = {{bytes, 0}, {redo, 0}};
        size_t n_ops, from = 0, writes = 0, records = 0, taken_out = 0;
        Op *ops;

        store_fixture_init(&f, STORE_SUPERVISE);
        for (size_t i = 0; i < FILES; i++) {
                _cleanup_free_ char *path = NULL, *image = NULL;

                cr_assert_geq(asprintf(&path, "%s/%s", f.dir, names[i]), 0);
                cr_assert_eq(io_read_file(AT_FDCWD, path, IMAGE_MAX, &image, &synced[i].n), 0);
                memcpy(synced[i].bytes, image, synced[i].n);
                (i == 0 ? write_log_start : write_log_also)(path);
        }
        wal_checkpoint_after_usec = UINT_MAX;
        store_keep_ahead(f.store, keeps);
        work(&f, ahead);
        write_log_stop(&ops, &n_ops);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1); /* the anchor is of a later time than most cuts */
        make_image_folder(&f);

        for (size_t i = 0; i < n_ops; i++) {
                const Op *o = &ops[i];

                while (from < i && ops[from].kind != OP_WRITE)
                        from++;
                if (o->kind == OP_MARK) {
                        acknowledged = o->at;
                        judge_subsets(&f, synced, ops, from, i, acknowledged);
                        continue;
                }
                if (o->kind == OP_WRITE && !o->durable) {
                        writes += o->file == 0;
                        taken_out += o->file == 1;
                        judge_subsets(&f, synced, ops, from, i + 1, acknowledged);
                        continue;
                }
                /* A write through O_DSYNC may be lost until it returns; then it is there. A sync makes all before it
                 * durable. */
                judge_subsets(&f, synced, ops, from, i + (o->kind == OP_WRITE), acknowledged);
                settle(synced, ops, from, i);
                records += o->kind == OP_WRITE && o->file == 1;
                if (o->kind == OP_WRITE)
                        put(synced, o, 0, o->n);
                else
                        cr_assert_eq(o->file, 0); /* records are written through: nothing of them waits for a sync */
                ops[i].kind = OP_MARK;
                ops[i].at = acknowledged;
        }
        cr_assert_gt(writes, keeps ? 60 : 100, "the store's writes were not seen: %zu", writes);
        cr_assert_eq(records, ahead ? 14 + 4 : 0);
        cr_assert(ahead ? taken_out > 4 : taken_out == 0, "%zu records were taken out", taken_out);
        cr_log_info("%u images", n_images);
        write_log_free(ops, n_ops);
}

// Power cut at any moment: every prefix of the store's writes, with every (or sampled) subset of what was not yet
// synced.
Test(power, no_acknowledged_event_is_lost) {
        cut_power(false, 0);
}

// The same where a commit is told of as soon as it is in the redo file: with all that the two files may be together.
Test(power, nothing_that_was_told_ahead_is_lost) {
        cut_power(true, 0);
}

// The same where several of them share one commit of LMDB.
Test(power, nothing_that_was_left_is_lost) {
        cut_power(true, 3);
}
