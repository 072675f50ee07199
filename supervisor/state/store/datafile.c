#include "store/datafile.h"
#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define GROW_BYTES_MOST (256U * 1024)

int datafile_read(int fd, uint64_t at, void *p, size_t n) {
        ssize_t k;

        for (size_t done = 0; done < n; done += (size_t)k) {
                k = pread(fd, (uint8_t *)p + done, n - done, (off_t)(at + done));
                if (k < 0 && errno == EINTR)
                        k = 0;
                else if (k <= 0)
                        return k < 0 ? -errno : -ENODATA;
        }
        return 0;
}

static int datafile_check_once(int dir_fd, const char *dir, Diag *reterr) {
        _cleanup_close_ int fd = openat(dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        uint32_t page = 0;
        Meta m[2];
        struct stat st;
        const Meta *newer;

        if (fd < 0)
                return errno == ENOENT   ? diag(reterr, STORE_E_MISSING, "%s is not a store: it has no data.mdb", dir)
                       : errno == EACCES ? diag(reterr, STORE_E_READ_ONLY, "store %s: data.mdb may not be read", dir)
                                         : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return diag(reterr, STORE_E_DAMAGED, "store %s: data.mdb is not a regular file", dir);
        for (int i = 0; i < 2; i++) {
                uint8_t head[PAGE_HEADER];
                uint16_t flags;
                int r = datafile_read(fd, (uint64_t)i * page, head, sizeof(head))
                        ?: datafile_read(fd, (uint64_t)i * page + PAGE_HEADER, &m[i], sizeof(m[i]));

                if (r == -ENODATA)
                        return diag(reterr, STORE_E_DAMAGED,
                                    "store %s: data.mdb is truncated: %lld bytes, less than two meta pages", dir,
                                    (long long)st.st_size);
                if (r < 0)
                        return r;
                memcpy(&flags, head + 10, sizeof(flags));
                if (!(flags & PAGE_META) || m[i].magic != META_MAGIC)
                        return diag(reterr, STORE_E_DAMAGED,
                                    "store %s: data.mdb: page %d is no meta page: the file is damaged or foreign", dir,
                                    i);
                if (m[i].format != META_FORMAT)
                        return diag(reterr, STORE_E_VERSION,
                                    "store %s: data.mdb has file format %u: this Lethe reads %u", dir, m[i].format,
                                    META_FORMAT);
                if (i == 0) {
                        page = m[0].tables[0].pad;
                        if (page < 512 || page > 65536 || (page & (page - 1)))
                                return diag(reterr, STORE_E_DAMAGED,
                                            "store %s: data.mdb: meta page 0 gives page size %u", dir, page);
                }
        }
        if (m[1].tables[0].pad != page)
                return diag(reterr, STORE_E_DAMAGED, "store %s: data.mdb: its meta pages give page sizes %u and %u",
                            dir, page, m[1].tables[0].pad);
        /* Commit n goes to page n mod 2: after a flipped bit an older state could look newest. */
        for (int i = 0; i < 2; i++)
                if (m[i].txn != 0 && (m[i].txn & 1) != (unsigned)i)
                        return diag(reterr, STORE_E_DAMAGED,
                                    "store %s: data.mdb: meta page %d has commit number %llu of the other page", dir, i,
                                    (unsigned long long)m[i].txn);
        newer = m[0].txn > m[1].txn ? &m[0] : &m[1];
        if (MAX(m[0].txn, m[1].txn) - MIN(m[0].txn, m[1].txn) > 1)
                return diag(reterr, STORE_E_DAMAGED,
                            "store %s: data.mdb: its meta pages have commit numbers %llu and %llu, not neighbours", dir,
                            (unsigned long long)m[0].txn, (unsigned long long)m[1].txn);
        for (int i = 0; i < 2; i++)
                if (newer->tables[i].root != UINT64_MAX &&
                    (newer->tables[i].root < 2 || newer->tables[i].root > newer->last_page ||
                     newer->tables[i].depth > 32))
                        return diag(reterr, STORE_E_DAMAGED,
                                    "store %s: data.mdb: the newest meta page has its root at page %llu of %llu", dir,
                                    (unsigned long long)newer->tables[i].root, (unsigned long long)newer->last_page);
        if (fstat(fd, &st) < 0) /* again: the file may have grown for a commit read above */
                return -errno;
        if (newer->last_page > (uint64_t)INT64_MAX / page - 1)
                return diag(reterr, STORE_E_DAMAGED, "store %s: data.mdb: the newest meta page counts %llu pages", dir,
                            (unsigned long long)newer->last_page);
        /* LMDB does not write pages that a commit took and freed again: the file may be shorter by such pages only. */
        if ((newer->last_page + 1) * page > (uint64_t)st.st_size && page_walk(fd, newer, page, NULL) != 0)
                return diag(reterr, STORE_E_DAMAGED,
                            "store %s: data.mdb is truncated: %lld bytes, but the newest commit uses %llu pages of %u",
                            dir, (long long)st.st_size, (unsigned long long)newer->last_page + 1, page);
        return 0;
}

int datafile_check(int dir_fd, const char *dir, Diag *reterr) {
        int r = datafile_check_once(dir_fd, dir, reterr);

        /* Another process may have committed between the reads of both pages. */
        for (int i = 0; r == STORE_E_DAMAGED && i < 3; i++) {
                usleep(2000);
                r = datafile_check_once(dir_fd, dir, reterr);
        }
        return r;
}

void datafile_grow(Store *s) {
        static const uint8_t zeros[GROW_BYTES_MOST];
        MDB_envinfo info;
        MDB_stat st;
        struct stat file;
        uint64_t used, more;
        int fd;

        mdb_env_info(s->env, &info);
        mdb_env_stat(s->env, &st);
        used = (info.me_last_pgno + 1) * st.ms_psize;
        more = MIN(used / 4 / st.ms_psize * st.ms_psize, sizeof(zeros));
        if (more == 0 || mdb_env_get_fd(s->env, &fd) != 0 || fstat(fd, &file) < 0 ||
            (uint64_t)file.st_size >= used + more / 2)
                return;
        if (pwrite(fd, zeros, more, file.st_size) < 0) /* not needed by LMDB, which reports a full disk itself */
                return;
}

static int datafile_meta(int fd, uint64_t txn, Meta *ret, uint32_t *ret_page) {
        Meta m[2];
        int r = datafile_read(fd, PAGE_HEADER, &m[0], sizeof(m[0]));

        if (r < 0)
                return r;
        *ret_page = m[0].tables[0].pad;
        r = datafile_read(fd, (uint64_t)*ret_page + PAGE_HEADER, &m[1], sizeof(m[1]));
        if (r < 0)
                return r;
        for (int i = 0; i < 2; i++)
                if (m[i].txn == txn) {
                        *ret = m[i];
                        return 0;
                }
        return -EAGAIN;
}

int datafile_walk_at(int fd, uint64_t txn, Diag *reterr) {
        uint32_t page;
        Meta m;

        return datafile_meta(fd, txn, &m, &page) ?: page_walk(fd, &m, page, reterr);
}

int store_check_pages(Txn *t, Diag *reterr) {
        const Store *s = t->store;
        _cleanup_close_ int fd = openat(s->dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        Diag why = {0};
        int r;

        if (fd < 0)
                return -errno;
        r = datafile_walk_at(fd, mdb_txn_id(t->mdb), &why);
        return r > 0 ? diag(reterr, STORE_E_DAMAGED, "store %s: data.mdb: %s", s->dir, why.text) : r;
}
