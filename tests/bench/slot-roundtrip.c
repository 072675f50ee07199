/* Runs: benchmarks. Slot reads and writes as a skill sees them: it makes a skill of itself in a temporary folder, lets `lethe run` start
 * that, and inside the region asks and waits, one request after the other.
 *
 *   LETHE=build/lethe [STORE=FOLDER] slot-roundtrip [WRITES]
 *
 * STORE: that one, with a daemon that serves it if there is one; else a new one, and none. */
#include "lethe.h"
#include "stats.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READS 1500 /* below the burst that the supervisor lets through at once (PIPE_REQUESTS_PER_SEC / 10) */
#define WRITES 500

static int fail(const char *what) {
        perror(what);
        return 1;
}

static int inside(size_t writes) {
        static uint64_t nsec[READS > 4096 ? READS : 4096];
        const char *value;
        char text[128];
        Lethe *l;

        if (lethe_open(&l) != LETHE_OK || lethe_slot_write(l, "bench", "{\"text\":\"0123456789012345678901234567890123456789\",\"n\":0}", -1, NULL) != LETHE_OK)
                return fprintf(stderr, "slot-roundtrip: %s\n", lethe_message(l)), 1;
        for (size_t i = 0; i < READS; i++) {
                uint64_t begun = bench_nsec();

                if (lethe_slot_read(l, "bench", &value, NULL) != LETHE_OK)
                        return fprintf(stderr, "slot-roundtrip: %s\n", lethe_message(l)), 1;
                nsec[i] = bench_nsec() - begun;
        }
        bench_print("slot.read", nsec, READS, 1);
        for (size_t i = 0; i < writes; i++) {
                uint64_t begun;

                snprintf(text, sizeof text, "{\"text\":\"0123456789012345678901234567890123456789\",\"n\":%zu}", i);
                begun = bench_nsec();
                if (lethe_slot_write(l, "bench", text, -1, NULL) != LETHE_OK)
                        return fprintf(stderr, "slot-roundtrip: %s\n", lethe_message(l)), 1;
                nsec[i] = bench_nsec() - begun;
        }
        bench_print("slot.write, durable", nsec, writes, 1);
        lethe_close(l);
        return 0;
}

static int put(int dir, const char *name, const char *text) {
        int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

        return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0 ? 0 : -1;
}

static int copy_self(int dir) {
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = openat(dir, "bench", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
        struct stat st;

        if (from < 0 || to < 0 || fstat(from, &st) < 0)
                return -1;
        while (sendfile(to, from, NULL, (size_t)st.st_size) > 0)
                ;
        close(from);
        return close(to);
}

static int run(char *const *argv) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0) {
                execvp(argv[0], argv);
                _exit(127);
        }
        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv) {
        const char *lethe = getenv("LETHE"), *tmp = getenv("TMPDIR"), *served = getenv("STORE");
        char folder[4096], skill[4200], store[4200], manifest[512];
        size_t writes = argc > 1 ? strtoul(argv[1], NULL, 10) : WRITES;
        int dir, r = 1;

        if (writes < 1 || writes > 4000) {
                fprintf(stderr, "slot-roundtrip: WRITES is from 1 to 4000\n");
                return 2;
        }
        if (getenv("LETHE_OUT"))
                return inside(writes);
        if (!lethe) {
                fprintf(stderr, "slot-roundtrip: LETHE is to name the program\n");
                return 2;
        }
        snprintf(folder, sizeof folder, "%s/slot-roundtrip-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(folder))
                return fail(folder);
        snprintf(skill, sizeof skill, "%s/bench", folder);
        snprintf(store, sizeof store, "%s/store", folder);
        snprintf(manifest, sizeof manifest, "{\"version\":1,\"entry\":{\"main\":[\"./bench\",\"%zu\"]},\"reads\":[\"bench\"],\"writes\":[\"bench\"],\"slots\":{\"bench\":{}}}", writes);
        dir = mkdir(skill, 0755) == 0 ? open(skill, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (dir < 0 || put(dir, "SKILL.md", "---\nname: bench\ndescription: Slot round trips.\n---\n") < 0 || put(dir, "lethe.json", manifest) < 0 || copy_self(dir) < 0)
                fail(skill);
        else
                r = run((char *[]){(char *)lethe, "run", served ? "--quiet" : "--no-serve", "--store", served ? (char *)served : store, skill, NULL});
        run((char *[]){"rm", "-rf", folder, NULL});
        return r;
}
