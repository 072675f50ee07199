#include "scrub/kept.h"

#include "base/clock.h"
#include "base/dirents.h"
#include "base/io.h"
#include "base/size.h"
#include "scrub/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define KEPT_NEW ".new-"
#define KEPT_OLD ".old-"
#define KEPT_SUM "bytes"
#define KEPT_SWEEP_USEC 3600000000ULL
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int kept_open_as(const char *store_dir, const char *shelf, const char *prefix, const char *region, int lock) {
        _cleanup_free_ char *path = text_printf("%s/%s/%s%s", store_dir, shelf, prefix, region);
        _cleanup_close_ int fd = path ? open(path, FOLDER_FLAGS) : -1;

        if (!path)
                return -ENOMEM;
        if (fd < 0)
                return -errno;
        if (flock(fd, lock | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        return TAKE_FD(fd);
}

int kept_begin(const char *store_dir, const char *shelf, const char *region) {
        _cleanup_free_ char *all = text_printf("%s/%s", store_dir, shelf),
                            *path = text_printf("%s/%s/" KEPT_NEW "%s", store_dir, shelf, region);

        if (!all || !path)
                return -ENOMEM;
        if ((mkdir(all, 0700) < 0 && errno != EEXIST) || mkdir(path, 0700) < 0)
                return -errno;
        return kept_open_as(store_dir, shelf, KEPT_NEW, region, LOCK_EX);
}

int kept_complete(const char *store_dir, const char *shelf, const char *region, int folder, uint64_t bytes) {
        _cleanup_free_ char *path = text_printf("%s/%s", store_dir, shelf), *from = text_printf(KEPT_NEW "%s", region);
        _cleanup_close_ int all = path ? open(path, FOLDER_FLAGS) : -1;
        char text[24];
        int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", bytes), r;

        if (!path || !from)
                return -ENOMEM;
        if (all < 0)
                return -errno;
        r = io_write_file(folder, KEPT_SUM, text, (size_t)n, 0600, true);
        if (r == 0 && (renameat(all, from, all, region) < 0 || fsync(all) < 0))
                r = -errno;
        return r;
}

int kept_open(const char *store_dir, const char *shelf, const char *region, int lock) {
        return kept_open_as(store_dir, shelf, "", region, lock);
}

static int kept_wipe(const char *store_dir, const char *shelf, const char *prefix, const char *region, int folder) {
        _cleanup_free_ char *path = text_printf("%s/%s/%s%s", store_dir, shelf, prefix, region);
        ScratchWiped said = {0};
        int r = path ? scratch_wipe(folder, 1, &(ScratchSum){0}, &said) : -ENOMEM;

        return r < 0 ? r : rmdir(path) < 0 ? -errno
                                           : 0;
}

/* Under its name the folder is whole, or not there: a killed drop leaves no half of it. */
int kept_drop(const char *store_dir, const char *shelf, const char *region, int folder) {
        _cleanup_free_ char *from = text_printf("%s/%s/%s", store_dir, shelf, region),
                            *to = text_printf("%s/%s/" KEPT_OLD "%s", store_dir, shelf, region);

        if (!from || !to)
                return -ENOMEM;
        return rename(from, to) < 0 ? -errno : kept_wipe(store_dir, shelf, KEPT_OLD, region, folder);
}

int kept_drop_begun(const char *store_dir, const char *shelf, const char *region, int folder) {
        return kept_wipe(store_dir, shelf, KEPT_NEW, region, folder);
}

int kept_drop_new(const char *store_dir, const char *shelf, const char *region) {
        _cleanup_close_ int folder = kept_open_as(store_dir, shelf, KEPT_NEW, region, LOCK_EX);

        return folder == -ENOENT ? KEPT_E_NONE : folder < 0 ? folder
                                                            : kept_wipe(store_dir, shelf, KEPT_NEW, region, folder);
}

void kept_list_deinit(KeptList *l) {
        free(l->folders);
        *l = (KeptList){0};
}

static int kept_compare(const void *a, const void *b) {
        const KeptFolder *x = a, *y = b;

        return strcmp(x->region, y->region); /* an id begins with the time */
}

/* Without the sum (a killed drop, or a folder of an earlier version) the files are summed up. */
static uint64_t kept_bytes(int folder) {
        _cleanup_free_ char *text = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        const struct dirent *e;
        uint64_t bytes = 0;
        struct stat st;
        size_t n;

        if (io_read_file(folder, KEPT_SUM, 24, &text, &n) == 0 && n > 0 && text[n - 1] == '\n') {
                text[n - 1] = 0;
                if (count_parse(text, &bytes) == 0)
                        return bytes;
        }
        d = opendirat(folder, ".");
        for (bytes = 0; d && (e = readdir(d));)
                if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
                        bytes += (uint64_t)st.st_size;
        return bytes;
}

static void kept_sweep_one(const char *store_dir, const char *shelf, const char *prefix, const char *region) {
        const uint64_t now = clock_real_usec(), made = region_id_valid(region) ? region_id_usec(region) : now;
        _cleanup_close_ int folder = -1;

        if (!region_id_valid(region) || (strcmp(prefix, KEPT_NEW) == 0 && (made >= now || now - made < KEPT_SWEEP_USEC)))
                return;
        folder = kept_open_as(store_dir, shelf, prefix, region, LOCK_EX);
        if (folder >= 0)
                kept_wipe(store_dir, shelf, prefix, region, folder);
}

void kept_sweep(const char *store_dir, const char *shelf) {
        static const char *const prefixes[] = {KEPT_NEW, KEPT_OLD};
        _cleanup_free_ char *path = text_printf("%s/%s", store_dir, shelf);
        _cleanup_closedir_ DIR *all = path ? opendir(path) : NULL;
        const struct dirent *e;

        while (all && (e = readdir(all)))
                for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
                        if (strncmp(e->d_name, prefixes[i], strlen(prefixes[i])) == 0)
                                kept_sweep_one(store_dir, shelf, prefixes[i], e->d_name + strlen(prefixes[i]));
}

int kept_list(const char *store_dir, const char *shelf, KeptList *ret) {
        _cleanup_free_ char *path = text_printf("%s/%s", store_dir, shelf);
        _cleanup_closedir_ DIR *all = path ? opendir(path) : NULL;
        _cleanup_kept_list_ KeptList l = {0};
        const struct dirent *e;

        *ret = (KeptList){0};
        if (!all)
                return !path ? -ENOMEM : errno == ENOENT ? 0
                                                         : -errno;
        while ((e = readdir(all))) {
                _cleanup_close_ int folder = -1;
                KeptFolder *f;

                if (!region_id_valid(e->d_name))
                        continue;
                if (!GROW(l.folders, l.n))
                        return -ENOMEM;
                folder = openat(dirfd(all), e->d_name, FOLDER_FLAGS);
                if (folder < 0)
                        continue;
                f = &l.folders[l.n++];
                memcpy(f->region, e->d_name, sizeof(f->region));
                f->bytes = kept_bytes(folder);
                l.bytes += f->bytes;
        }
        if (l.n > 0)
                qsort(l.folders, l.n, sizeof(*l.folders), kept_compare);
        *ret = l;
        l = (KeptList){0};
        return 0;
}

size_t kept_surplus(KeptList *l, const KeepPolicy *policy, uint64_t now) {
        uint64_t bytes = l->bytes;
        size_t n = 0;

        for (; n < l->n; n++) {
                KeptFolder *f = &l->folders[n];
                const uint64_t made = region_id_usec(f->region);
                const bool newest = n + 1 == l->n;

                f->why = made < now && now - made > policy->age_usec ? "age"
                         : !newest && l->n - n > policy->number      ? "number"
                         : !newest && bytes > policy->bytes          ? "bytes"
                                                                     : NULL;
                if (!f->why)
                        break;
                bytes -= f->bytes;
        }
        return n;
}
