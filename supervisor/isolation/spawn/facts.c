#include "spawn/facts.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* The value of the last word `name`=… of the kernel's command line: 1, 0, or -1 when there is none. The kernel reads it as kstrtobool(). */
static int boot_word(const char *line, const char *name) {
        size_t n = strlen(name);
        int v = -1;

        for (const char *p = line; (p = strstr(p, name)); p += n)
                if ((p == line || p[-1] == ' ') && p[n] == '=' && strchr("1yYtT", p[n + 1]) && p[n + 1])
                        v = 1;
                else if ((p == line || p[-1] == ' ') && p[n] == '=')
                        v = strncmp(p + n + 1, "on", 2) == 0;
        return v;
}

static bool find_init_on_free(void) {
        _cleanup_free_ char *line = NULL, *text = NULL;
        char path[256];
        struct utsname u;
        size_t n;
        int word = io_read_file(AT_FDCWD, "/proc/cmdline", 65536, &line, &n) == 0 ? boot_word(line, "init_on_free") : -1;

        if (word >= 0)
                return word;
        uname(&u);
        snprintf(path, sizeof(path), "/boot/config-%s", u.release);
        return io_read_file(AT_FDCWD, path, 8 << 20, &text, &n) == 0 && strstr(text, "\nCONFIG_INIT_ON_FREE_DEFAULT_ON=y");
}

/* Of a kernel that is booted it does not change. */
static bool init_on_free(void) {
        static atomic_int known = -1;
        int v = atomic_load(&known);

        if (v < 0)
                atomic_store(&known, v = find_init_on_free());
        return v;
}

void kernel_facts_ahead(void) {
        init_on_free();
}

void kernel_facts(RulesetFacts *ret) {
        _cleanup_free_ char *swaps = NULL;
        size_t n;
        int e;

        ret->init_on_free = init_on_free();
        /* The first line is a heading. What cannot be read is taken for the worse. */
        e = io_read_file(AT_FDCWD, "/proc/swaps", 65536, &swaps, &n);
        ret->swap = e < 0 ? e != -ENOENT : strchr(swaps, '\n') && strchr(swaps, '\n')[1]; /* no such file: a kernel without swap */
}
