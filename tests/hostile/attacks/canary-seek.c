// I-3: looks for an earlier region's canary (argv[1] is its mark) in fresh memory, the stack's unused part, the environment, descriptors,
// every file of the writable folders, the keyring and System V memory.
#include "attack.h"

#include <dirent.h>
#include <sys/shm.h>

extern char **environ;
static const char needle[] = "ethe-hostile-canary"; /* without the first letter, so that this program's own text is no find */

static void look(const char *where, const char *p, size_t n) {
        for (const char *q = p; (q = memmem(q, n - (size_t)(q - p), needle, sizeof needle - 1)); q++)
                if (q > p && q[-1] == 'l' && q != needle)
                        escaped("the canary is in %s", where);
}

int main(int argc, char **argv) {
        const char *mark = arg(argc, argv, 1);
        static const char *const folders[] = {"/tmp", "/work", "/dev/shm", ".", "/var/tmp", "/skill", "/run"};
        size_t n = 32 << 20;
        char path[300];
        char *m = malloc(n), *a = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        volatile char stack[65536]; /* whatever lies there from before main */
        __asm__ volatile("" : "=m"(stack));
        look("the stack", (const char *)stack, sizeof stack);
        __asm__ volatile("" : "+r"(m) : : "memory");
        if (m)
                look("malloc's memory", m, n);
        if (a != MAP_FAILED)
                look("fresh pages", a, n);
        for (char **e = environ; *e; e++)
                look("the environment", *e, strlen(*e));
        for (int fd = 3; fd < 64; fd++) {
                char b[64] = {0};
                fcntl(fd, F_SETFL, O_NONBLOCK);
                ssize_t got = read(fd, b, sizeof b);
                if (got > 0)
                        look("a descriptor", b, (size_t)got);
        }
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
                snprintf(path, sizeof path, "%s/%s", folders[i], mark);
                if (file_has_canary(AT_FDCWD, path))
                        escaped("%s is there", path);
                DIR *d = opendir(folders[i]);
                for (struct dirent *e; d && (e = readdir(d));)
                        if (strcmp(e->d_name, mark) == 0)
                                escaped("%s lists it", folders[i]);
        }
        if (syscall(SYS_request_key, "user", mark, NULL, 0) >= 0)
                escaped("the key is there");
        if (shmget((key_t)strtol(mark + 2, NULL, 16), 0, 0) >= 0)
                escaped("the System V segment is there");
        errno = ENOENT;
        contained("the canary");
}
