/* Runs: in a region. A deleted file of the scratch that only the queue of a socket holds, and the socket only a thread with a table of descriptors of its own;
 * by the contract at the head of the harness's canary.c. It never ends: its wall-clock budget ends it. Where the thread or its socket is refused, the class is
 * not filled: its number is -errno. */
#include "support/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COPIES 65536 /* of 32 bytes, one every 64: 4 MiB */

typedef struct QueueKey {
        char name[32];
        unsigned char a[32], b[32];
} QueueKey;

static QueueKey queue_keys[64];
static size_t queue_n;
static volatile int64_t queue_filled;
static volatile int queue_done;

/* Byte by byte: no register and no buffer of the C library has a copy. */
static void queue_put(volatile unsigned char *to, const char *name) {
        for (size_t i = 0; i < queue_n; i++)
                for (size_t k = 0; k < 32 && strcmp(queue_keys[i].name, name) == 0; k++)
                        to[k] = queue_keys[i].a[k] ^ queue_keys[i].b[k];
}

static void queue_read_keys(const char *self) {
        char path[4096], a[65], b[65];
        FILE *f;

        snprintf(path, sizeof(path), "%.*s/keys", (int)(strrchr(self, '/') - self), self);
        f = fopen(path, "re");
        while (f && queue_n < sizeof(queue_keys) / sizeof(*queue_keys) && fscanf(f, "%31s %64s %64s", queue_keys[queue_n].name, a, b) == 3) {
                for (size_t k = 0; k < 32; k++) {
                        unsigned x = 0, y = 0;

                        sscanf(a + 2 * k, "%2x", &x);
                        sscanf(b + 2 * k, "%2x", &y);
                        queue_keys[queue_n].a[k] = (unsigned char)x;
                        queue_keys[queue_n].b[k] = (unsigned char)y;
                }
                queue_n++;
        }
        if (f)
                fclose(f);
}

static void queue_fill(volatile unsigned char *p, size_t n, const char *name) {
        for (size_t at = 0; at < n; at += 64)
                queue_put(p + at, name);
}

/* A deleted file of n bytes, which the process's memory keeps no copy of. Returns a descriptor or -errno. */
static int queue_make_file(size_t n) {
        int fd = open("queue", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        unsigned char *p;

        if (fd < 0 || unlink("queue") < 0 || ftruncate(fd, (off_t)n) < 0)
                return -errno;
        p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                return -errno;
        queue_fill(p, n, "queue_file");
        munmap(p, n);
        return fd;
}

static int queue_thread(void *arg __attribute__((unused))) {
        int pair[2], fd = queue_make_file(COPIES * 64), e = fd < 0 ? fd : 0;

        if (e == 0)
                e = hidden_in_queue(fd, MSG_DONTWAIT, pair);
        queue_filled = e == 0 ? COPIES : e;
        if (fd >= 0)
                close(fd);
        queue_done = 1;
        for (;;)
                pause();
        return 0;
}

int main(int argc __attribute__((unused)), char **argv) {
        char *stack = malloc(1 << 18);
        unsigned char *page;

        queue_read_keys(argv[0]);
        if (chdir(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") < 0)
                return 2;
        if (clone(queue_thread, stack + (1 << 18), HIDDEN_TABLE, NULL) < 0) {
                queue_filled = -errno;
                queue_done = 1;
        }
        while (!queue_done)
                usleep(1000);
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < queue_n; i++) {
                int64_t n = strcmp(queue_keys[i].name, "beacon") == 0 ? 1 : queue_filled;

                memcpy(page + 40 + 8 * i, &n, sizeof(n));
        }
        memcpy(page + 32, "RSD1", 4);
        memcpy(page + 36, &(uint32_t){(uint32_t)queue_n}, 4);
        queue_put(page, "beacon");
        for (;;)
                pause();
}
