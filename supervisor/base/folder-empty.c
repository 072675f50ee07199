#include "base/folder-empty.h"

#include "base/dirents.h"

#include <errno.h>
#include <fcntl.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

typedef struct FolderWalk {
        FolderEntryFn fn;
        void *arg;
        int fd; /* the current folder */
        size_t depth;
        ino_t left; /* the folder without an entry that the walk has left last, or 0 */
        bool any;   /* the listing of the current folder has an entry */
} FolderWalk;

/* Returns 1 or -errno. */
static int folder_go(FolderWalk *w, const char *name, bool deeper) {
        int next = openat(w->fd, name, FOLDER_FLAGS);
        struct stat st;

        if (next < 0)
                return -errno;
        w->left = !deeper && !w->any && fstat(w->fd, &st) == 0 ? st.st_ino : 0;
        close(w->fd);
        w->fd = next;
        w->depth += deeper ? 1 : (size_t)-1;
        return 1;
}

/* Returns 0: removed. 1: entered, a folder with entries. -errno. */
static int folder_take_entry(FolderWalk *w, const char *name) {
        struct stat st;
        bool folder;
        int r;

        if (fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        r = w->fn ? w->fn(w->fd, name, &st, w->arg) : 0;
        if (r < 0)
                return r;
        folder = S_ISDIR(st.st_mode);
        if (folder && (st.st_mode & 0700) != 0700 && fchmodat(w->fd, name, 0700, 0) < 0)
                return -errno;
        if (unlinkat(w->fd, name, folder ? AT_REMOVEDIR : 0) == 0)
                return 0;
        /* a folder that stays, though it lists no entry, would be entered for ever */
        return folder && errno == ENOTEMPTY && st.st_ino != w->left ? folder_go(w, name, true) : -errno;
}

int folder_empty(int top, FolderEntryFn fn, void *arg) {
        FolderWalk w = {.fn = fn, .arg = arg, .fd = openat(top, ".", FOLDER_FLAGS)};
        int r = w.fd < 0 ? -errno : 1;

        while (r > 0) {
                const char *name;
                Dirents d;

                r = 0;
                w.any = false;
                dirents_begin(&d, w.fd);
                while (r == 0 && (name = dirents_next(&d))) {
                        w.any = true;
                        r = folder_take_entry(&w, name);
                }
                r = r ?: d.error;
                dirents_end(&d);
                if (r == 0 && w.depth > 0)
                        r = folder_go(&w, "..", false);
        }
        closep(&w.fd);
        return r;
}
