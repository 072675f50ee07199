#include "spawn/uids.h"

#include "base/io.h"
#include "base/lock.h"
#include "spawn/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define UIDS_RECENT 64
#define UIDS_TEXT_MAX (1 << 20)

/* Of this process. */
static pthread_mutex_t uids_lock = PTHREAD_MUTEX_INITIALIZER;
static int uids_fd = -1;
static UidRange uids_checked;        /* the last range that passed the check */
static uint32_t uids_recent[UIDS_RECENT];
static size_t uids_n_recent;
static uint32_t *uids_taken;         /* by this process, whose own locks do not conflict */
static size_t uids_n_taken;

/* The number after the next colon of a line; *at moves behind the number. */
static bool uids_number(const char **at, unsigned long long *ret) {
        const char *p = *at + strcspn(*at, ":\n");
        char *end;

        if (*p != ':' || p[1] < '0' || p[1] > '9')
                return false;
        *ret = strtoull(p + 1, &end, 10);
        *at = end;
        return true;
}

/* passwd and group have one id in the third field of a line, subuid and subgid a range in the second and third. */
static int uids_look(const UidRange *r, const char *path, bool ranges, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        if (io_read_file(AT_FDCWD, path, UIDS_TEXT_MAX, &text, &n) < 0)
                return 0;
        for (const char *line = text; line && *line; line = strchr(line, '\n')) {
                unsigned long long first, count = 1;
                const char *at;

                line += *line == '\n';
                at = line + strcspn(line, ":\n");
                at = ranges ? line : at + (*at == ':');
                if (!uids_number(&at, &first) || (ranges && !uids_number(&at, &count)))
                        continue;
                if (first < (uint64_t)r->first + r->count && r->first < first + count)
                        return diag(reterr, UIDS_E_REFUSED, "region_uids %u to %u: %s has %llu; regions need ids of "
                                    "their own; fix: another range in the policy's \"region_uids\"", r->first,
                                    r->first + r->count - 1, path, first);
        }
        return 0;
}

static int uids_check(const UidRange *r, bool standard, bool *ret_none, Diag *reterr) {
        static const struct {
                const char *path;
                bool ranges;
        } files[] = {{"/etc/passwd", false}, {"/etc/group", false}, {"/etc/subuid", true}, {"/etc/subgid", true}};
        int e = 0;

        if (uids_checked.first == r->first && uids_checked.count == r->count)
                return 0;
        if (!probe_is_mapped("/proc/self/uid_map", r->first, r->count) ||
            !probe_is_mapped("/proc/self/gid_map", r->first, r->count)) {
                *ret_none = standard;
                return standard ? 0
                                : diag(reterr, UIDS_E_REFUSED,
                                       "region_uids %u to %u: a part is not mapped in the user namespace of lethe; "
                                       "fix: a mapped range",
                                       r->first, r->first + r->count - 1);
        }
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(files); i++)
                e = uids_look(r, files[i].path, files[i].ranges, reterr);
        if (e == 0)
                uids_checked = *r;
        return e;
}

static int uids_open(Diag *reterr) {
        struct stat st;

        if (uids_fd >= 0)
                return 0;
        uids_fd = open(UIDS_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (uids_fd < 0)
                return diag(reterr, -errno, "\"%s\", where ids of regions are locked, cannot be opened: %s; fix: a "
                            "/run that root can write", UIDS_FILE, strerror(errno));
        if (fstat(uids_fd, &st) < 0 || st.st_uid != 0 || !S_ISREG(st.st_mode) || st.st_mode & 022) {
                close(uids_fd);
                uids_fd = -1;
                return diag(reterr, UIDS_E_REFUSED, "\"%s\" belongs to, or can be written by, a user other than root; "
                            "fix: remove the file", UIDS_FILE);
        }
        return 0;
}

static int uids_set(uint32_t uid, short type) {
        struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = uid, .l_len = 1};

        return fcntl(uids_fd, F_OFD_SETLK, &l) == 0 ? 0 : -errno;
}

/* The list has room for one more. */
static int uids_try(uint32_t uid) {
        for (size_t i = 0; i < uids_n_taken; i++)
                if (uids_taken[i] == uid)
                        return -EAGAIN;
        if (uids_set(uid, F_WRLCK) < 0)
                return errno == EACCES || errno == EAGAIN ? -EAGAIN : -errno;
        uids_taken[uids_n_taken++] = uid;
        return 0;
}

static int uids_find(const UidRange *r, uint32_t *ret, Diag *reterr) {
        uint32_t from = 0;
        int e;

        if (!GROW(uids_taken, uids_n_taken))
                return -ENOMEM;
        while (uids_n_recent > 0) {
                uint32_t uid = uids_recent[--uids_n_recent];

                if (uid - r->first < r->count && uids_try(uid) == 0) {
                        *ret = uid;
                        return 0;
                }
        }
        if (getrandom(&from, sizeof(from), GRND_NONBLOCK) < 0)
                from = 0;
        for (uint32_t i = 0; i < r->count; i++) {
                *ret = r->first + (uint32_t)(((uint64_t)from + i) % r->count);
                e = uids_try(*ret);
                if (e != -EAGAIN)
                        return e;
        }
        return diag(reterr, UIDS_E_REFUSED, "region_uids %u to %u: a living region has each of them; fix: a larger "
                    "range in the policy's \"region_uids\"", r->first, r->first + r->count - 1);
}

int uids_take(const UidRange *range, uint32_t *ret, Diag *reterr) {
        const UidRange r = range->count > 0 ? *range : (UidRange){UIDS_STANDARD_FIRST, UIDS_STANDARD_COUNT};
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&uids_lock);
        bool none = false;
        int e = uids_check(&r, range->count == 0, &none, reterr);

        *ret = 0;
        return e != 0 || none ? e : uids_open(reterr) ?: uids_find(&r, ret, reterr);
}

void uids_give(uint32_t uid) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&uids_lock);

        for (size_t i = 0; i < uids_n_taken; i++)
                if (uids_taken[i] == uid) {
                        uids_taken[i] = uids_taken[--uids_n_taken];
                        uids_set(uid, F_UNLCK);
                        if (uids_n_recent < UIDS_RECENT)
                                uids_recent[uids_n_recent++] = uid;
                        break;
                }
        if (uids_n_taken == 0) {
                closep(&uids_fd);
                free(TAKE_PTR(uids_taken));
        }
}
