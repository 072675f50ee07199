#include "store/datafile.h"
#include "store/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define PAGE 4096U
#define ROW_HEAD 8 /* table, there, be16, be32 */

static_assert(WAL_BYTES % PAGE == 0, "the file's format");

/* The last broken record seen by this thread. */
static _Thread_local struct {
        const Store *store;
        uint64_t number;  /* WAL_NUMBER_DAMAGED: unknown */
        bool follows;     /* of that transaction or behind an applied record, with any `before` */
        uint8_t before[WAL_DIGEST];
        WalBroken how;
} broken;

void wal_keys_deinit(WalKeys *k) {
        free(k->p);
        *k = (WalKeys){0};
}

/* Stored: table, length (host order), key. */
void wal_note(WalKeys *k, Table table, Bytes key) {
        uint16_t n_key = (uint16_t)key.n;
        size_t need = 1 + sizeof(n_key) + key.n;

        if (k->lost || k->n + need > WAL_BYTES) {
                k->lost = true;
                return;
        }
        if (k->n + need > k->room) {
                size_t room = MAX(2 * k->room, k->n + need + 1024);
                uint8_t *p = realloc(k->p, room);

                if (!p) {
                        k->lost = true;
                        return;
                }
                k->p = p;
                k->room = room;
        }
        k->p[k->n] = (uint8_t)table;
        memcpy(k->p + k->n + 1, &n_key, sizeof(n_key));
        memcpy(k->p + k->n + 3, key.p, key.n);
        k->n += need;
        k->count++;
}

static int wal_fill(int dir_fd, const char *name) {
        _cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        static const uint8_t zeros[WAL_BYTES];
        ssize_t n = 0;

        /* Zeros, no hole: the first write to each new block would cost a file system transaction. */
        if (fd < 0 || (n = pwrite(fd, zeros, sizeof(zeros), 0)) < 0 || fsync(fd) < 0)
                return -errno;
        return n == (ssize_t)sizeof(zeros) ? 0 : -ENOSPC;
}

int wal_make(int dir_fd) {
        char name[64];
        uint64_t rnd;
        int r;

        if (faccessat(dir_fd, WAL_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        if (getrandom(&rnd, sizeof(rnd), 0) != (ssize_t)sizeof(rnd))
                return -EIO;
        snprintf(name, sizeof(name), WAL_FILE ".new.%016llx", (unsigned long long)rnd);
        r = wal_fill(dir_fd, name);
        if (r == 0 && linkat(dir_fd, name, dir_fd, WAL_FILE, 0) < 0 && errno != EEXIST)
                r = -errno;
        unlinkat(dir_fd, name, 0);
        if (r == 0 && fsync(dir_fd) < 0)
                r = -errno;
        return r;
}

/* Opens without access times, which each record would otherwise write to the disk, too: permitted to the owner only. */
static int wal_open_quietly(int dir_fd, int flags) {
        int fd = openat(dir_fd, WAL_FILE, flags | O_NOATIME);

        return fd < 0 && errno == EPERM ? openat(dir_fd, WAL_FILE, flags) : fd;
}

int wal_open(Store *s, Diag *reterr) {
        bool write = s->mode != STORE_READ;
        struct stat st;
        int fd;

        if (write)
                wal_make(s->dir_fd);
        fd = wal_open_quietly(s->dir_fd, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 && errno == ELOOP)
                return diag(reterr, STORE_E_DAMAGED,
                            "store %s: " WAL_FILE " is a symbolic link, not made by Lethe: remove the link", s->dir);
        if (fd < 0)
                return 0;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
                close(fd);
                return diag(reterr, STORE_E_DAMAGED,
                            "store %s: " WAL_FILE " is not a regular file, not made by Lethe: remove it", s->dir);
        }
        s->wal_fd = fd;
        return 0;
}

void wal_close(Store *s) {
        closep(&s->wal_fd);
        free(TAKE_PTR(s->wal_bytes));
}

/* A digest of the state that t sees: differs between any two states before the same transaction number. */
static int wal_digest_state(Store *s, MDB_txn *t, uint8_t ret[static WAL_DIGEST]) {
        static const char *const rows[] = {"tree", "checkpoint"};
        crypto_generichash_state h;

        crypto_generichash_init(&h, NULL, 0, WAL_DIGEST);
        for (Table i = 0; i < TABLE_COUNT_; i++) {
                MDB_stat st;
                uint8_t bytes[5 * 8];
                int r;

                if (!s->dbi[i])
                        continue;
                r = lmdb_to_errno(LMDB(mdb_stat(t, s->dbi[i], &st)));
                if (r < 0)
                        return r;
                be64_put(bytes, st.ms_entries);
                be64_put(bytes + 8, st.ms_depth);
                be64_put(bytes + 16, st.ms_branch_pages);
                be64_put(bytes + 24, st.ms_leaf_pages);
                be64_put(bytes + 32, st.ms_overflow_pages);
                crypto_generichash_update(&h, bytes, sizeof(bytes));
        }
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                MDB_val k = {strlen(rows[i]), (void *)rows[i]}, v = {0};
                int r = lmdb_to_errno(LMDB(mdb_get(t, s->dbi[TABLE_META], &k, &v)));
                uint8_t n[8];

                if (r < 0 && r != -ENOENT)
                        return r;
                be64_put(n, v.mv_size);
                crypto_generichash_update(&h, n, sizeof(n));
                if (v.mv_size > 0)
                        crypto_generichash_update(&h, v.mv_data, v.mv_size);
        }
        crypto_generichash_final(&h, ret, WAL_DIGEST);
        return 0;
}

/* A reader sees the state before the transaction of the lock's holder. */
static int wal_digest_before(Store *s, uint64_t next, uint8_t ret[static WAL_DIGEST]) {
        MDB_txn *t;
        int r = lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &t)));

        if (r < 0)
                return r;
        r = mdb_txn_id(t) + 1 == next ? wal_digest_state(s, t, ret) : -EUCLEAN;
        LMDB((mdb_txn_abort(t), 0));
        return r;
}

static void wal_digest_record(const WalHead *h, const uint8_t *rows, size_t n, uint8_t ret[static WAL_DIGEST]) {
        crypto_generichash_state st;

        crypto_generichash_init(&st, NULL, 0, WAL_DIGEST);
        crypto_generichash_update(&st, (const uint8_t *)h, offsetof(WalHead, digest));
        crypto_generichash_update(&st, rows, n);
        crypto_generichash_final(&st, ret, WAL_DIGEST);
}

static uint16_t wal_key_length(const uint8_t *k) {
        uint16_t n;

        memcpy(&n, k + 1, sizeof(n));
        return n;
}

static int wal_by_key(const void *a, const void *b) {
        const uint8_t *x = *(const uint8_t *const *)a, *y = *(const uint8_t *const *)b;
        uint16_t n = wal_key_length(x), m = wal_key_length(y);
        int c = *x != *y ? *x - *y : memcmp(x + 3, y + 3, MIN(n, m));

        return c ? c : n - m;
}

/* Writes one row, as of the batch's end. Returns its bytes, 0 without room, -errno. */
static ssize_t wal_put_row(Store *s, MDB_txn *t, const uint8_t *key, uint8_t *out, size_t room, bool *ret_there) {
        MDB_val k = {wal_key_length(key), (void *)(key + 3)}, v = {0};
        int r = lmdb_to_errno(LMDB(mdb_get(t, s->dbi[*key], &k, &v)));

        if (r < 0 && r != -ENOENT)
                return r;
        if (v.mv_size > UINT32_MAX || ROW_HEAD + k.mv_size + v.mv_size > room)
                return 0;
        out[0] = *key;
        out[1] = *ret_there = r == 0;
        out[2] = (uint8_t)(k.mv_size >> 8);
        out[3] = (uint8_t)k.mv_size;
        for (int i = 0; i < 4; i++)
                out[4 + i] = (uint8_t)(v.mv_size >> (24 - 8 * i));
        memcpy(out + ROW_HEAD, k.mv_data, k.mv_size);
        if (v.mv_size > 0)
                memcpy(out + ROW_HEAD + k.mv_size, v.mv_data, v.mv_size);
        return (ssize_t)(ROW_HEAD + k.mv_size + v.mv_size);
}

/* Writes all rows behind the header. Returns 0 or -errno; -EFBIG: no room. */
static int wal_put_rows(Store *s, MDB_txn *t, const WalKeys *keys, size_t room, size_t *ret_n, uint64_t *ret_rows) {
        _cleanup_free_ const uint8_t **list = calloc(keys->count, sizeof(*list));
        const uint8_t *k = keys->p;
        size_t at = sizeof(WalHead);
        bool any = false;
        uint64_t n = 0;

        if (!list)
                return -ENOMEM;
        for (unsigned i = 0; i < keys->count; i++, k += 3 + wal_key_length(k))
                list[i] = k;
        qsort(list, keys->count, sizeof(*list), wal_by_key);
        for (unsigned i = 0; i < keys->count; i++) {
                bool there;
                ssize_t used;

                if (i > 0 && wal_by_key(&list[i - 1], &list[i]) == 0)
                        continue;
                used = at < room ? wal_put_row(s, t, list[i], s->wal_bytes + at, room - at, &there) : 0;
                if (used <= 0)
                        return used < 0 ? (int)used : -EFBIG;
                at += (size_t)used;
                any |= there;
                n++;
        }
        if (!any) /* LMDB does not count a transaction without a change: the number would come again */
                return -ENODATA;
        *ret_n = at - sizeof(WalHead);
        *ret_rows = n;
        return 0;
}

/* Moves the chain's end behind a written or found record of n bytes. */
static void wal_extend_chain(WalChain *c, size_t n, const WalHead *h) {
        c->n++;
        c->end += (n + PAGE - 1) / PAGE * PAGE;
        memcpy(c->last, h->digest, WAL_DIGEST);
}

/* Wipes the record at that place, without waiting for the disk. A whole page need not be read first. */
static int wal_wipe(Store *s, off_t at) {
        static const uint8_t zeros[PAGE];

        return pwrite(s->wal_fd, zeros, sizeof(zeros), at) == (ssize_t)sizeof(zeros) ? 0 : -EIO;
}

static int wal_write_bytes(Store *s, size_t n, off_t at, bool sync) {
        const struct iovec v = {s->wal_bytes, n};

        if (pwritev2(s->wal_fd, &v, 1, at, sync ? RWF_DSYNC : 0) == (ssize_t)n)
                return 0;
        wal_wipe(s, at); /* the next process must not apply a record whose commit failed */
        return -EIO;
}

int wal_sync(Store *s) {
        WalChain *c = &s->chain;

        if (fdatasync(s->wal_fd) == 0)
                return 0;
        *c = s->chain_before;
        wal_wipe(s, (off_t)c->end);
        return -EIO;
}

/* fstat() would also query the times: after a query, the next write sets new times, and the inode goes to the disk with
 * each record instead of once a tick of the kernel's clock. */
static bool wal_has_name(int fd) {
        struct statx st;

        return statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &st) == 0 && st.stx_nlink > 0;
}

int wal_write(Txn *t, const WalKeys *keys, bool sync) {
        Store *s = t->store;
        uint64_t next = mdb_txn_id(t->mdb), n_rows = 0, unit;
        _cleanup_free_ uint8_t *old = NULL;
        WalChain *c = &s->chain;
        WalHead h = {0};
        size_t n = 0, n_all;
        int r;

        if (s->wal_fd < 0 || keys->lost || keys->count == 0)
                return -ENODATA;
        if (!wal_has_name(s->wal_fd)) /* no other process would find the file */
                return -ENOENT;
        if (!s->wal_bytes && !(s->wal_bytes = malloc(WAL_BYTES)))
                return -ENOMEM;
        r = wal_put_rows(s, t->mdb, keys, WAL_BYTES - c->end, &n, &n_rows);
        if (r == 0 && c->n > 0)
                memcpy(h.before, c->last, WAL_DIGEST);
        else if (r == 0)
                r = wal_digest_before(s, next, h.before);
        if (r < 0)
                return r;
        memcpy(h.magic, WAL_MAGIC, sizeof(h.magic));
        be64_put(h.version, WAL_VERSION);
        be64_put(h.txn, next);
        be64_put(h.n_rows, n_rows);
        be64_put(h.n, n);
        memcpy(h.store, s->public_key, sizeof(h.store));
        wal_digest_record(&h, s->wal_bytes + sizeof(h), n, h.digest);
        n_all = (sizeof(h) + n + PAGE - 1) / PAGE * PAGE; /* a page that is written whole need not be read first */
        memset(s->wal_bytes + sizeof(h) + n, 0, n_all - sizeof(h) - n);
        unit = wal_unit(n);
        be64_put(h.unit, unit);
        wal_sums(s->wal_bytes + sizeof(h), n, unit, h.sums, true);
        old = malloc(n_all);
        if (!old)
                return -ENOMEM;
        if (pread(s->wal_fd, old, n_all, (off_t)c->end) != (ssize_t)n_all)
                return -EIO;
        wal_sums(old + sizeof(h), n, unit, h.sums, false);
        be64_put(h.sum, wal_head_sum(&h));
        memcpy(s->wal_bytes, &h, sizeof(h));
        s->chain_before = *c;
        r = wal_write_bytes(s, n_all, (off_t)c->end, sync);
        explicit_bzero(s->wal_bytes, n_all); /* rows, new and old */
        explicit_bzero(old, n_all);
        if (r == 0)
                wal_extend_chain(c, n_all, &h);
        return r;
}

static void wal_note_broken(const Store *s, uint64_t number, bool follows, const WalHead *h, WalBroken how) {
        broken.store = s;
        broken.number = number;
        broken.follows = follows;
        memcpy(broken.before, h->before, WAL_DIGEST);
        broken.how = how;
}

/* Loads the record behind the chain c. Returns 1 with *ret (owned), header and rows; 0: no whole record; -errno. */
static int wal_load(Store *s, uint64_t next, const WalChain *c, uint8_t **ret) {
        _cleanup_free_ uint8_t *p = NULL;
        uint8_t digest[WAL_DIGEST];
        size_t n_head, n_all;
        uint64_t n;
        WalHead h;
        int r;

        broken.store = NULL;
        r = c->end + sizeof(h) > WAL_BYTES ? -ENODATA : datafile_read(s->wal_fd, c->end, &h, sizeof(h));
        if (r < 0)
                return r == -ENODATA ? 0 : r;
        /* a damaged record of another transaction, behind no record, counts for no state */
        if (wal_head_is_ours(s, &h) && !wal_head_is_whole(&h)) {
                bool follows = be64_get(h.txn) == next || (c->n > 0 && memcmp(h.before, c->last, WAL_DIGEST) == 0);

                if (follows || c->n == 0)
                        wal_note_broken(s, WAL_NUMBER_DAMAGED, follows, &h, WAL_DAMAGED);
                return 0;
        }
        n = be64_get(h.n);
        n_head = wal_head_bytes(&h);
        if (memcmp(h.magic, WAL_MAGIC, sizeof(h.magic)) != 0 || be64_get(h.version) > WAL_VERSION ||
            be64_get(h.txn) != next || n > WAL_BYTES - n_head - c->end ||
            memcmp(h.store, s->public_key, sizeof(h.store)) != 0 ||
            (c->n > 0 && memcmp(h.before, c->last, WAL_DIGEST) != 0))
                return 0;
        n_all = MIN((n_head + n + WAL_SECTOR - 1) / WAL_SECTOR * WAL_SECTOR, WAL_BYTES - c->end);
        p = calloc(1, n_all);
        if (!p)
                return -ENOMEM;
        r = datafile_read(s->wal_fd, c->end, p, n_head + n);
        if (r < 0)
                return r == -ENODATA ? 0 : r;
        if (memcmp(p, &h, n_head) != 0) /* a writer is at work */
                return 0;
        wal_digest_record(&h, p + n_head, n, digest);
        if (memcmp(digest, h.digest, WAL_DIGEST) != 0) {
                /* of a truncated file: zeros */
                datafile_read(s->wal_fd, c->end + n_head + n, p + n_head + n, n_all - n_head - n);
                wal_note_broken(s, next, c->n > 0, &h, wal_judge(&h, p + n_head, n));
                return 0;
        }
        *ret = TAKE_PTR(p);
        return 1;
}

WalBroken wal_broken(Store *s, MDB_txn *t, uint64_t next) {
        uint8_t before[WAL_DIGEST];

        if (!wal_may_be_broken(s, next))
                return WAL_WHOLE;
        return broken.follows || (wal_digest_state(s, t, before) == 0 && memcmp(before, broken.before, WAL_DIGEST) == 0)
                       ? broken.how
                       : WAL_WHOLE;
}

bool wal_may_be_broken(const Store *s, uint64_t next) {
        return broken.store == s && (broken.number == next || broken.number == WAL_NUMBER_DAMAGED);
}

uint64_t wal_number(const Store *s) {
        WalHead h;

        if (s->wal_fd < 0 || pread(s->wal_fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
                return 0;
        return wal_head_is_ours(s, &h) && !wal_head_is_whole(&h) ? WAL_NUMBER_DAMAGED : be64_get(h.txn);
}

int wal_forget(Store *s, MDB_txn *t, bool commits) {
        uint64_t number = s->mode == STORE_READ ? 0 : wal_number(s);
        bool of_no_use =
                number == WAL_NUMBER_DAMAGED ? commits || !atomic_load(&s->said_broken) : number < mdb_txn_id(t);

        return number > 0 && of_no_use ? wal_wipe(s, 0) : 0;
}

int wal_is_left(Store *s, MDB_txn *t, uint64_t next) {
        _cleanup_free_ uint8_t *p = NULL;
        uint8_t before[WAL_DIGEST];
        int r = s->wal_fd < 0 ? 0 : wal_load(s, next, &(WalChain){0}, &p);

        if (r <= 0)
                return r;
        r = wal_digest_state(s, t, before);
        return r < 0 ? r : memcmp(((const WalHead *)p)->before, before, WAL_DIGEST) == 0;
}

/* Returns 0 or -errno. -EUCLEAN: the rows are not a record's rows, in spite of the digest. */
static int wal_apply_row(Store *s, MDB_txn *t, const uint8_t **at, const uint8_t *end) {
        const uint8_t *p = *at;
        MDB_val k, v;
        int r;

        if (end - p < ROW_HEAD || p[0] >= TABLE_COUNT_ || p[1] > 1)
                return -EUCLEAN;
        k = (MDB_val){(size_t)(p[2] << 8 | p[3]), (void *)(p + ROW_HEAD)};
        v.mv_size = (size_t)p[4] << 24 | (size_t)p[5] << 16 | (size_t)p[6] << 8 | p[7];
        if (k.mv_size + v.mv_size > (size_t)(end - p - ROW_HEAD))
                return -EUCLEAN;
        v.mv_data = (uint8_t *)k.mv_data + k.mv_size;
        *at = p + ROW_HEAD + k.mv_size + v.mv_size;
        r = lmdb_to_errno(p[1] ? LMDB(mdb_put(t, s->dbi[p[0]], &k, &v, 0)) : LMDB(mdb_del(t, s->dbi[p[0]], &k, NULL)));
        return !p[1] && r == -ENOENT ? 0 : r; /* made and deleted within the batch */
}

static int wal_apply_record(Store *s, MDB_txn *t, const uint8_t *p) {
        const WalHead *h = (const WalHead *)p;
        const uint8_t *at = p + wal_head_bytes(h), *end = at + be64_get(h->n);
        uint64_t n = be64_get(h->n_rows);
        int r = 0;

        for (uint64_t i = 0; i < n && r >= 0; i++)
                r = wal_apply_row(s, t, &at, end);
        return r < 0 ? r : at == end ? 0 : -EUCLEAN;
}

int wal_apply(Store *s, MDB_txn *t) {
        WalChain c = {0};

        for (;;) {
                _cleanup_free_ uint8_t *p = NULL;
                int r = wal_load(s, mdb_txn_id(t), &c, &p);

                if (r == 0 && c.n > 0) {
                        s->chain = c;
                        return 0;
                }
                r = r > 0 ? wal_apply_record(s, t, p) : r == 0 ? -EUCLEAN : r;
                if (r < 0)
                        return r;
                wal_extend_chain(&c, wal_head_bytes((const WalHead *)p) + be64_get(((const WalHead *)p)->n),
                                 (const WalHead *)p);
        }
}
