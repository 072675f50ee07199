/* I-99: LMDB believes what a page says of itself; pages are looked at before a process writes. Each bit of each page's header, of its list of nodes and
 * of its nodes' headers is flipped: the walk names the page, or the flip harms nothing. */
#include "base/io.h"
#include "store/datafile.h"
#include "store/store-internal.h"
#include "tests/support/child.h"
#include "tests/state/store/slot-fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE 4096U
#define NODES_MOST 4 /* of a page are flipped bit by bit, the first and the last ones */

typedef struct Image {
        uint8_t *bytes;
        size_t n;
        int fd; /* of a file in memory that has them */
        Meta newest;
} Image;

static void image_path(const StoreFixture *f, char out[static PATH_MAX]) {
        snprintf(out, PATH_MAX, "%.4000s/data.mdb", f->dir);
}

static void image_take(const StoreFixture *f, Image *ret) {
        char path[PATH_MAX];
        Meta m[2];

        image_path(f, path);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 64 << 20, (char **)&ret->bytes, &ret->n), 0);
        ret->fd = memfd_create("image", MFD_CLOEXEC);
        cr_assert(ret->fd >= 0 && io_write_full(ret->fd, ret->bytes, ret->n) == 0);
        memcpy(&m[0], ret->bytes + PAGE_HEADER, sizeof(m[0]));
        memcpy(&m[1], ret->bytes + PAGE + PAGE_HEADER, sizeof(m[1]));
        ret->newest = m[m[1].txn > m[0].txn];
        cr_assert_eq(page_walk(ret->fd, &ret->newest, PAGE, NULL), 0, "the store before any harm");
}

static void image_put(const StoreFixture *f, const Image *image) {
        char path[PATH_MAX];

        image_path(f, path);
        cr_assert_eq(io_write_file(AT_FDCWD, path, image->bytes, image->n, 0600, false), 0);
}

static bool image_flip_is_seen(const Image *image, size_t at, unsigned bit) {
        uint8_t was = image->bytes[at], is = (uint8_t)(was ^ 1U << bit);
        Diag d = {0};
        int r;

        cr_assert_eq(pwrite(image->fd, &is, 1, (off_t)at), 1);
        r = page_walk(image->fd, &image->newest, PAGE, &d);
        cr_assert(r == 0 || (r == 1 && *d.text), "byte %zu, bit %u: %d", at, bit, r);
        cr_assert_eq(pwrite(image->fd, &was, 1, (off_t)at), 1);
        return r == 1;
}

/* Slots with a history, values of several pages, and free pages. */
static void make(StoreFixture *f, unsigned n_large) {
        char *text = calloc(1, 60001), name[32];

        cr_assert(text);
        memset(text, 'x', 60000);
        for (unsigned i = 0; i < 60; i++) {
                uint64_t version;
                Txn *t;

                snprintf(name, sizeof(name), "slot/%u", i % 12);
                if (i < 12)
                        slot_define(f, name);
                t = store_fixture_begin(f, true);
                cr_assert_eq(slot_put(t, name, (int)i, &version, &f->d), 0, "%s", f->d.text);
                store_fixture_commit(f, t);
        }
        slot_define(f, "large");
        for (unsigned i = 0; i < n_large; i++) {
                json_t *v = json_string(text);
                uint64_t seq, version;
                Txn *t = store_fixture_begin(f, true);

                cr_assert_eq(engine_slot_put(t, "uid:0", "large", v, -1, &seq, &version, &f->d), 0, "%s", f->d.text);
                store_fixture_commit(f, t);
                json_decref(v);
        }
        free(text);
}

/* A put in a process's first transaction. */
static int put_once(StoreFixture *f) {
        uint64_t version;
        Txn *t = NULL;
        int r;

        store_fixture_close(f);
        r = store_open(f->dir, STORE_WRITE, &f->store, &f->d);
        if (r == 0)
                r = store_begin(f->store, true, &t, &f->d);
        if (r != 0)
                return r;
        cr_assert_eq(slot_put(t, "slot/1", 7, &version, &f->d), 0, "%s", f->d.text);
        return store_commit(t, &f->d);
}

Test(pages, each_bit_that_lmdb_believes) {
        _cleanup_store_fixture_ StoreFixture f;
        size_t n_seen = 0, n_harmless = 0, n_pages = 0;
        uint8_t *harmless;
        AuditReport a;
        Image image;

        store_fixture_init(&f, STORE_WRITE);
        make(&f, 2);
        store_fixture_close(&f);
        image_take(&f, &image);
        harmless = calloc(1, image.n);
        cr_assert(harmless);
        for (size_t page = 2; page <= image.newest.last_page && (page + 1) * PAGE <= image.n; page++) {
                size_t at = page * PAGE;
                uint16_t flags, lower;
                unsigned n = 0;

                memcpy(&flags, image.bytes + at + 10, sizeof(flags));
                memcpy(&lower, image.bytes + at + 12, sizeof(lower));
                if (!image_flip_is_seen(&image, at, 1)) /* its own number: a free page, or the rest of a large value */
                        continue;
                n_pages++;
                for (size_t i = 0; i < PAGE_HEADER * 8; i++)
                        if (image_flip_is_seen(&image, at + i / 8, i % 8))
                                n_seen++;
                        else {
                                harmless[at + i / 8] |= (uint8_t)(1U << i % 8);
                                n_harmless++;
                                /* mp_pad is read where duplicates have a fixed size, and there are none. */
                                cr_expect(i / 8 == 8 || i / 8 == 9, "page %zu, byte %zu of its header, bit %zu is not seen", page, i / 8, i % 8);
                        }
                if (flags & 4) /* the rest is the value */
                        continue;
                n = (lower - PAGE_HEADER) / 2U;
                for (unsigned k = 0; k < n; k++) {
                        uint16_t node;

                        if (k >= NODES_MOST && k + NODES_MOST < n)
                                continue;
                        memcpy(&node, image.bytes + at + PAGE_HEADER + 2 * (size_t)k, sizeof(node));
                        /* Its place and its header: any answer, but no read outside of the page (AddressSanitizer, or a fault behind the file's end). */
                        for (unsigned i = 0; i < 16; i++)
                                n_seen += image_flip_is_seen(&image, at + PAGE_HEADER + 2 * (size_t)k + i / 8, i % 8);
                        for (unsigned i = 0; i < 64; i++)
                                n_seen += image_flip_is_seen(&image, at + node + i / 8, i % 8);
                }
        }
        cr_log_info("%zu pages, %zu flips seen, %zu harmless", n_pages, n_seen, n_harmless);
        cr_assert(n_pages > 8 && n_seen > 1000);
        /* All flips of headers that nobody sees, at once: the store is written, and holds. */
        for (size_t i = 0; i < image.n; i++)
                image.bytes[i] ^= harmless[i];
        image_put(&f, &image);
        cr_assert_eq(put_once(&f), 0, "%s", f.d.text);
        cr_assert_eq(audit_run(f.store, &a), 0, "%s: %s, %s", a.what, a.expected, a.found);
        free(harmless);
        free(image.bytes);
        close(image.fd);
}

/* Seen by the walk is one thing; that a writer walks first, is another: the file is byte for byte as it was, and the audit says the same. */
static void check_refused(StoreFixture *f, Image *image, size_t at, unsigned bit) {
        _cleanup_free_ char *now = NULL;
        char path[PATH_MAX];
        AuditReport a;
        size_t n;
        int r;

        image->bytes[at] ^= (uint8_t)(1U << bit);
        image_put(f, image);
        r = put_once(f);
        cr_expect_eq(r, STORE_E_DAMAGED, "byte %zu, bit %u: %d %s", at, bit, r, f->d.text);
        store_fixture_close(f);
        image_path(f, path);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 64 << 20, &now, &n), 0);
        cr_expect(n == image->n && memcmp(now, image->bytes, n) == 0, "byte %zu, bit %u: the store was written", at, bit);
        r = store_open(f->dir, STORE_READ, &f->store, &f->d);
        cr_expect(r == STORE_E_DAMAGED || (r == 0 && audit_run(f->store, &a) == AUDIT_E_BROKEN), "byte %zu, bit %u: the audit finds nothing", at, bit);
        store_fixture_close(f);
        image->bytes[at] ^= (uint8_t)(1U << bit);
}

Test(pages, a_writer_looks_first) {
        _cleanup_store_fixture_ StoreFixture f;
        unsigned n = 0;
        Image image;

        store_fixture_init(&f, STORE_WRITE);
        make(&f, 2);
        store_fixture_close(&f);
        image_take(&f, &image);
        for (size_t page = 2; page <= image.newest.last_page && (page + 1) * PAGE <= image.n; page++)
                if (image_flip_is_seen(&image, page * PAGE, 1)) {
                        n++;
                        check_refused(&f, &image, page * PAGE + 12 + n % 4, n / 4 % 8); /* lower and upper; of a large value the number of its pages */
                }
        image_put(&f, &image);
        cr_assert_eq(put_once(&f), 0, "without a flip it is written: %s", f.d.text);
        free(image.bytes);
        close(image.fd);
}

/* A page that a small write never reads: the first one of a large value. */
static size_t page_aside(const Image *image) {
        size_t page = image->newest.last_page;

        for (; page > 1; page--) {
                uint16_t flags;

                memcpy(&flags, image->bytes + page * PAGE + 10, sizeof(flags));
                if (flags == 4 && image_flip_is_seen(image, page * PAGE, 1))
                        break;
        }
        cr_assert_gt(page, 1, "no large value");
        return page;
}

static void put_open(StoreFixture *f) {
        Txn *t = store_fixture_begin(f, true);
        uint64_t version;

        cr_assert_eq(slot_put(t, "slot/1", 7, &version, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

/* A command: a process that writes once. Ends with the number of walks. */
static int put_of_a_child(void *arg) {
        StoreFixture *f = arg;
        uint64_t version;
        Store *s = NULL;
        unsigned walks;
        Txn *t = NULL;

        child_check(store_open(f->dir, STORE_WRITE, &s, &f->d) == 0);
        child_check(store_begin(s, true, &t, &f->d) == 0);
        child_check(slot_put(t, "slot/2", 7, &version, &f->d) == 0);
        child_check(store_commit(t, &f->d) == 0);
        walks = s->walks;
        store_free(s);
        return (int)walks;
}

static void check_walks_of_a_child(StoreFixture *f, int walks, const char *when) {
        ChildEnd end;

        cr_assert_eq(child_run(put_of_a_child, f, &end), 0);
        cr_expect_eq(end.status, walks, "%s: a child ended with %d, not after %d walks: %s", when, end.status, walks, end.text);
}

/* Another program writes one byte, as the byte was. */
static void touch(const StoreFixture *f) {
        _cleanup_close_ int fd = -1;
        char path[PATH_MAX], byte;

        image_path(f, path);
        fd = open(path, O_RDWR | O_CLOEXEC);
        cr_assert(fd >= 0 && pread(fd, &byte, 1, PAGE) == 1 && pwrite(fd, &byte, 1, PAGE) == 1 && futimens(fd, NULL) == 0);
}

/* Writers that take turns, as a daemon and commands do, walk a large store once in all: O-32 with a million objects, where a walk takes a second. */
Test(pages, a_writer_beside_a_writer) {
        _cleanup_store_fixture_ StoreFixture f;
        unsigned walks;

        store_fixture_init(&f, STORE_WRITE);
        make(&f, 90);
        walks = f.store->walks;
        cr_expect_leq(walks, 1);
        for (int i = 0; i < 4; i++) {
                check_walks_of_a_child(&f, 0, "beside a writer");
                put_open(&f);
        }
        cr_expect_eq(f.store->walks, walks, "%u walks", f.store->walks);
        touch(&f);
        check_walks_of_a_child(&f, 1, "after another program wrote");
        check_walks_of_a_child(&f, 0, "after the walk of another process");
        put_open(&f);
        cr_expect_eq(f.store->walks, walks, "%u walks", f.store->walks);
        touch(&f);
        put_open(&f);
        cr_expect_eq(f.store->walks, walks + 1, "a writer that has walked looks again after another program wrote: %u walks", f.store->walks);
        put_open(&f);
        cr_expect_eq(f.store->walks, walks + 1, "%u walks", f.store->walks);
}

/* A store of more than 1,024 pages is walked when anything but Lethe wrote to it since. */
Test(pages, a_large_store_that_somebody_else_wrote_to) {
        _cleanup_store_fixture_ StoreFixture f;
        Image image;

        store_fixture_init(&f, STORE_WRITE);
        make(&f, 90);
        cr_assert_eq(put_once(&f), 0, "%s", f.d.text);
        store_fixture_close(&f);
        image_take(&f, &image);
        cr_assert(image.newest.last_page > 1024);
        cr_assert_eq(put_once(&f), 0, "%s", f.d.text);
        cr_assert_eq(f.store->walks, 0, "as the last writer left the file");
        store_fixture_close(&f);
        free(image.bytes);
        close(image.fd);
        image_take(&f, &image);
        check_refused(&f, &image, page_aside(&image) * PAGE + 12, 5);
        image_put(&f, &image);
        cr_assert_eq(put_once(&f), 0, "%s", f.d.text);
        free(image.bytes);
        close(image.fd);
}
