#include "ledger/export.h"

#include "base/buf.h"
#include "base/dirents.h"
#include "base/io.h"
#include "store/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TILE_WIDTH 256

void export_tile_path(int level, uint64_t n, unsigned width, char out[static EXPORT_PATH_MAX]) {
        char number[40];
        size_t at = 0, o;

        /* Groups of three digits, all but the last behind an x. */
        for (uint64_t scale = UINT64_C(1000000000000000000); scale > 1; scale /= 1000)
                if (n >= scale)
                        at += (size_t)snprintf(number + at, sizeof(number) - at, "x%03u/",
                                               (unsigned)(n / scale % 1000));
        snprintf(number + at, sizeof(number) - at, "%03u", (unsigned)(n % 1000));
        if (level < 0)
                o = (size_t)snprintf(out, EXPORT_PATH_MAX, "tile/entries/%s", number);
        else
                o = (size_t)snprintf(out, EXPORT_PATH_MAX, "tile/%d/%s", level, number);
        if (width < TILE_WIDTH)
                snprintf(out + o, EXPORT_PATH_MAX - o, ".p/%u", width);
}

static int export_file(int dir_fd, const char *path, const void *p, size_t n) {
        char folder[EXPORT_PATH_MAX];
        int r = io_write_file(dir_fd, path, p, n, 0644, false);

        if (r != -ENOENT)
                return r;
        snprintf(folder, sizeof(folder), "%s", path);
        for (char *s = folder; (s = strchr(s, '/')); *s++ = '/') {
                *s = 0;
                if (mkdirat(dir_fd, folder, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        return io_write_file(dir_fd, path, p, n, 0644, false);
}

/* The tiles of one level: `n` hashes of nodes of 2^(8 level) leaves. */
static int export_hashes(Txn *t, int dir_fd, unsigned level, uint64_t n) {
        uint8_t tile[TILE_WIDTH * HASH_BYTES], from[HASH_KEY_BYTES], key[HASH_KEY_BYTES];
        _cleanup_cursor_ Cursor *c = NULL;
        int r;

        ledger_hash_key(level * TILE_HEIGHT, 0, from);
        r = cursor_open(t, TABLE_HASH, BYTES(from, sizeof(from)), &c);
        for (uint64_t i = 0; r == 0 && i < n; i++) {
                unsigned in_tile = (unsigned)(i % TILE_WIDTH);
                char path[EXPORT_PATH_MAX];
                Bytes k, v;

                r = cursor_next(c, &k, &v);
                if (r < 0)
                        break;
                ledger_hash_key(level * TILE_HEIGHT, i, key);
                if (k.n != sizeof(key) || memcmp(k.p, key, sizeof(key)) != 0 || v.n != HASH_BYTES)
                        return -EUCLEAN;
                memcpy(tile + in_tile * HASH_BYTES, v.p, HASH_BYTES);
                if (in_tile + 1 == TILE_WIDTH || i + 1 == n) {
                        export_tile_path((int)level, i / TILE_WIDTH, in_tile + 1, path);
                        r = export_file(dir_fd, path, tile, (in_tile + 1) * HASH_BYTES);
                }
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

static int export_entries(Txn *t, int dir_fd, uint64_t n) {
        _cleanup_walk_ LedgerWalk w = {0};
        _cleanup_buf_ Buf b = {0};
        int r = ledger_walk(t, 0, &w);

        for (uint64_t i = 0; r == 0 && i < n; i++) {
                unsigned in_tile = (unsigned)(i % TILE_WIDTH);
                char path[EXPORT_PATH_MAX];
                uint64_t seq;
                Bytes e;

                r = ledger_next(&w, &seq, &e);
                if (r == 0 && e.n > LEDGER_ENTRY_MAX)
                        r = -EUCLEAN;
                if (r == 0)
                        r = buf_add(&b, (const uint8_t[]){(uint8_t)(e.n >> 8), (uint8_t)e.n}, 2)
                                ?: buf_add(&b, e.p, e.n);
                if (r == 0 && (in_tile + 1 == TILE_WIDTH || i + 1 == n)) {
                        export_tile_path(-1, i / TILE_WIDTH, in_tile + 1, path);
                        r = export_file(dir_fd, path, b.data, b.n);
                        b.n = 0;
                }
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

/* Returns 1 when the folder is not empty, 0 or -errno. */
static int export_has_files(int dir_fd) {
        _cleanup_closedir_ DIR *d = opendirat(dir_fd, ".");
        struct dirent *e;
        int found = 0;

        if (!d)
                return -errno;
        while (!found && (e = readdir(d)))
                found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
        return found;
}

static int export_code(int e) {
        return e == ENOSPC || e == EDQUOT ? STORE_E_FULL : EXPORT_E_PLACE;
}

int export_write(Txn *t, const char *dir, Checkpoint *ret, Diag *reterr) {
        _cleanup_close_ int fd = -1;
        char vkey[VKEY_MAX + 1];
        LedgerTree tree;
        Bytes note;
        int r;

        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
                return diag(reterr, export_code(errno), "%s cannot be made: %s", dir, strerror(errno));
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return diag(reterr, EXPORT_E_PLACE, "%s cannot be opened as a folder: %s", dir, strerror(errno));
        r = export_has_files(fd);
        if (r < 0)
                return r;
        if (r > 0)
                return diag(reterr, EXPORT_E_PLACE,
                            "%s is not empty: an export is written into a new or an empty folder", dir);
        r = ledger_tree_read(t, &tree) ?: ledger_checkpoint(t, &note);
        if (r == 0 && note_parse(note.p, note.n, ret, reterr) != 0)
                r = -EUCLEAN;
        for (unsigned level = 0; r == 0 && tree.edge.size >> (level * TILE_HEIGHT) > 0; level++)
                r = export_hashes(t, fd, level, tree.edge.size >> (level * TILE_HEIGHT));
        if (r == 0)
                r = export_entries(t, fd, tree.edge.size);
        if (r == 0) {
                note_vkey(store_origin(txn_store(t)), store_public_key(txn_store(t)), vkey);
                strcat(vkey, "\n");
                r = export_file(fd, "vkey", vkey, strlen(vkey));
        }
        if (r == 0)
                r = export_file(fd, "checkpoint", note.p, note.n);
        if (r == -ENOSPC || r == -EACCES || r == -EROFS || r == -EDQUOT || r == -EFBIG || r == -EIO)
                return diag(reterr, export_code(-r), "%s cannot be written: %s", dir, strerror(-r));
        return r;
}
