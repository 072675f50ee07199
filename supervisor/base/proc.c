#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

size_t proc_read(const char *path, char *out, size_t room) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t n = 0;

        if (fd < 0)
                return 0;
        while (n < room - 1) {
                ssize_t r = read(fd, out + n, room - 1 - n);

                if (r <= 0)
                        break;
                n += (size_t)r;
        }
        out[n] = 0;
        return n;
}

size_t proc_read_status(const char *path, char *out, size_t room) {
        static const char groups[] = "Groups:";
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t n = 0, line = 0; /* line: the start of the present line in out */
        bool drop = false;
        char piece[4096];
        ssize_t r;

        while (fd >= 0 && (r = read(fd, piece, sizeof(piece))) > 0)
                for (ssize_t i = 0; i < r; i++) {
                        if (!drop && n < room - 1)
                                out[n++] = piece[i];
                        if (!drop && n - line == sizeof(groups) - 1 && memcmp(out + line, groups, n - line) == 0) {
                                drop = true;
                                n = line;
                        } else if (piece[i] == '\n') {
                                drop = false;
                                line = n;
                        }
                }
        out[n] = 0;
        return n;
}

uint64_t proc_number(const char *text, const char *key, int base) {
        const char *p = strstr(text, key);

        return p ? strtoull(p + strlen(key), NULL, base) : 0;
}

uint64_t proc_field(const char *path, const char *key, int base) {
        char text[4096];

        return proc_read_status(path, text, sizeof(text)) ? proc_number(text, key, base) : 0;
}

bool proc_stat(pid_t pid, uint64_t *ret, size_t n) {
        char text[1024], *p;

        if (proc_read(PROC_PATH("%d/stat", pid), text, sizeof(text)) == 0 ||
            !(p = strrchr(text, ')'))) /* the name may hold spaces and brackets */
                return false;
        p++;
        for (size_t i = 0; i < n; i++) {
                while (*p == ' ')
                        p++;
                if (!*p || *p == '\n')
                        return false;
                ret[i] = i == 0 ? (unsigned char)*p++ : strtoull(p, &p, 10);
        }
        return true;
}

uint64_t proc_start_ticks(pid_t pid) {
        uint64_t f[20];

        return proc_stat(pid, f, ARRAY_SIZE(f)) ? f[19] : 0;
}

bool proc_apparmor(char *ret, size_t room) {
        char *mode;

        if (proc_read("/proc/self/attr/apparmor/current", ret, room) == 0)
                return false;
        mode = strstr(ret, " (");
        if (mode)
                *mode = 0;
        return mode != NULL; /* "unconfined" has no mode */
}

pid_t pidfd_pid(int pidfd) {
        const pid_t pid = (pid_t)proc_field(PROC_PATH("self/fdinfo/%d", pidfd), "\nPid:", 10);

        return pid > 0 ? pid : -ESRCH;
}

static char boot_id[40];

static void proc_read_boot_id(void) {
        if (proc_read("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) < 36)
                boot_id[0] = 0;
}

const char *proc_boot_id(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, proc_read_boot_id);
        return boot_id;
}
