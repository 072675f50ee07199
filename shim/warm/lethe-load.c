/* Runs: region. A skill in C as a shared object: `lethe-load FILE ARGUMENTS...` loads FILE and calls its
 * lethe_main(), as a program's main(). The gain: with "warm" in the manifest, lethe-load starts once and loads the
 * libraries of the system that "preload" names. Each region is forked from there before any code of the skill is
 * loaded (worker/warm.c). */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_FD 5 /* where fork() leaves the arguments; the environment is already set */
enum { LIFELINE_FD = 6, SPEC_FD }; /* of a region that waits for its arguments (schema/launch.h) */
#define WORDS_MAX (1U << 20)

static char *load_read_fd(int fd, off_t at, size_t most, size_t *ret_n) {
        char *all = malloc(most + 1);
        size_t n = 0;
        ssize_t k = all ? 1 : 0;

        while (k > 0 && n < most) {
                k = pread(fd, all + n, most - n, at + (off_t)n);
                n += k > 0 ? (size_t)k : 0;
        }
        if (!all)
                _exit(127);
        all[n] = 0;
        *ret_n = n;
        return all;
}

/* Texts, each ended by NUL, from `at` on. Returns a list that ends with NULL. */
static char **load_list(char *at, size_t n) {
        char **v = calloc(n + 1, sizeof(*v));

        if (!v)
                _exit(127);
        for (size_t i = 0; i < n; i++, at += strlen(at) + 1)
                v[i] = at;
        return v;
}

static char **load_arguments(int *ret_argc) {
        size_t n, count;
        char *words = load_read_fd(WORDS_FD, 0, WORDS_MAX, &n), *zeros = calloc(1, n + 1);

        if (!zeros || pwrite(WORDS_FD, zeros, n, 0) != (ssize_t)n)
                _exit(127);
        free(zeros);
        close(WORDS_FD);
        count = strtoul(words, NULL, 10);
        *ret_argc = (int)count;
        return load_list(words + strlen(words) + 1, count);
}

static uint32_t load_number(const char **at) {
        const unsigned char *p = (const unsigned char *)*at;

        *at += 4;
        return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static char *load_text(const char **at) {
        uint32_t n = load_number(at);
        char *own = strdup(*at);

        *at += n + 1;
        if (!own)
                _exit(127);
        return own;
}

static char **load_wait_arguments(int *ret_argc) {
        char take_bytes[8];
        const char *at = take_bytes;
        uint32_t offset, n, count;
        size_t got;
        char **argv, *words;

        if (write(LIFELINE_FD, "w", 1) != 1 ||
            read(LIFELINE_FD, take_bytes, sizeof(take_bytes)) != (ssize_t)sizeof(take_bytes))
                _exit(127);
        offset = load_number(&at);
        n = load_number(&at);
        words = load_read_fd(SPEC_FD, (off_t)offset, n, &got);
        close(LIFELINE_FD);
        close(SPEC_FD);
        if (got != n)
                _exit(127);
        at = words + 4; /* the magic */
        free(load_text(&at));
        count = load_number(&at);
        argv = calloc(count + 1, sizeof(*argv));
        if (!argv)
                _exit(127);
        for (uint32_t i = 0; i < count; i++)
                argv[i] = load_text(&at);
        for (uint32_t left = load_number(&at); left > 0; left--)
                if (putenv(load_text(&at)) != 0)
                        _exit(127);
        explicit_bzero(words, n);
        free(words);
        *ret_argc = (int)count;
        return argv;
}

static int load_run(int argc, char **argv) {
        int (*skill_main)(int, char **);
        void *object;

        if (argc < 2) {
                fputs("usage: lethe-load FILE ARGUMENTS...\n", stderr);
                return 2;
        }
        object = dlopen(argv[1], RTLD_NOW);
        *(void **)&skill_main = object ? dlsym(object, "lethe_main") : NULL;
        if (!skill_main) {
                fprintf(stderr, "lethe-load: %s\n", dlerror());
                return access(argv[1], F_OK) < 0 ? 127 : 126;
        }
        return skill_main(argc - 1, argv + 1);
}

/* Tells whether the object lies outside of these folders, a list joined by ':'. The loader's own list may have
 * folders that other users can write. */
static int load_is_elsewhere(struct dl_phdr_info *info, size_t size, void *folders) {
        char real[PATH_MAX];
        const char *at = folders;
        size_t n;

        (void)size;
        /* lethe-load itself, the kernel's vdso, Lethe's files */
        if (!strchr(info->dlpi_name, '/') || strncmp(info->dlpi_name, "/lethe/", 7) == 0)
                return 0;
        if (!realpath(info->dlpi_name, real))
                return 1;
        *strrchr(real, '/') = 0;
        for (n = strlen(real); *at; at += strcspn(at, ":"), at += *at == ':')
                if (strcspn(at, ":") == n && strncmp(at, real, n) == 0)
                        return 0;
        return 1;
}

static void load_warm(char *folders, int n, char **libraries) {
        for (int i = 0; i < n; i++)
                if (!dlopen(libraries[i], RTLD_NOW | RTLD_NODELETE)) {
                        fprintf(stderr, "lethe-load: %s\n", dlerror());
                        _exit(127);
                }
        if (dl_iterate_phdr(load_is_elsewhere, folders) != 0)
                _exit(127);
        if (setenv("LETHE_WARM", "1", 1) < 0 || fork() != 0)
                _exit(127);
}

int main(int argc, char **argv) {
        if (argc > 2 && strcmp(argv[1], "--warm") == 0) {
                load_warm(argv[2], argc - 3, argv + 3);
                argv = fcntl(SPEC_FD, F_GETFD) < 0 ? load_arguments(&argc) : load_wait_arguments(&argc);
        }
        return load_run(argc, argv);
}
