/* Runs: tests. The kept output of a detached region: bounds, a disk without room, damaged files. */
#include "output/output.h"

#include "base/io.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define REGION "01hzy3v5q8r6x2m9d4k7c0w1ab"

typedef struct World {
        char dir[64];
        OutputWriter *w;
        OutputReader r;
} World;

static void world_init(World *x) {
        *x = (World){.dir = "/tmp/output-XXXXXX", .r = OUTPUT_READER_NULL};
        cr_assert(mkdtemp(x->dir));
        cr_assert_eq(output_begin(x->dir, REGION, 7, true, &x->w), 0);
        cr_assert_eq(output_open(x->dir, REGION, &x->r), 0);
}

static void world_deinit(World *x) {
        char all[96];

        output_end(TAKE_PTR(x->w));
        output_close(&x->r);
        cr_assert_leq(output_drop(x->dir, REGION), OUTPUT_E_NONE);
        snprintf(all, sizeof(all), "%s/output", x->dir);
        rmdir(all);
        cr_assert_eq(rmdir(x->dir), 0);
}

/* */
Test(output, pieces_come_as_they_were_written) {
        OutputPiece p;
        World x;

        world_init(&x);
        cr_assert_eq(x.r.supervisor, 7);
        cr_assert(x.r.terminal);
        cr_assert_eq(output_next(&x.r, &p), 0);
        output_add(x.w, OUTPUT_OUT, "one", 3);
        output_add(x.w, OUTPUT_ERR, "two", 3);
        cr_assert_eq(output_next(&x.r, &p), 1);
        cr_assert(p.frame.kind == OUTPUT_OUT && p.frame.n == 3 && memcmp(p.bytes, "one", 3) == 0);
        cr_assert_eq(output_next(&x.r, &p), 1);
        cr_assert(p.frame.kind == OUTPUT_ERR && p.frame.n == 3 && memcmp(p.bytes, "two", 3) == 0);
        cr_assert_eq(output_next(&x.r, &p), 0);
        cr_assert_not(x.r.ended);
        output_end(TAKE_PTR(x.w));
        cr_assert_eq(output_next(&x.r, &p), 0);
        cr_assert(x.r.ended);
        world_deinit(&x);
}

/* a reader that comes late, and a reader that was overtaken, know how much they missed. */
Test(output, the_oldest_goes_and_is_counted) {
        static char chunk[50000];
        OutputReader late = OUTPUT_READER_NULL;
        OutputReader *const readers[] = {&late};
        uint64_t total = 0;
        OutputPiece p;
        World x;

        world_init(&x);
        memset(chunk, 'x', sizeof(chunk));
        output_add(x.w, OUTPUT_OUT, chunk, 1000);
        cr_assert_eq(output_next(&x.r, &p), 1); /* and goes on in a segment that will be gone */
        for (total = 1000; total < 3 * (uint64_t)OUTPUT_SEGMENT * OUTPUT_SEGMENTS_MAX; total += sizeof(chunk))
                output_add(x.w, OUTPUT_OUT, chunk, sizeof(chunk));
        output_end(TAKE_PTR(x.w));
        cr_assert_eq(output_open(x.dir, REGION, &late), 0);
        for (size_t i = 0; i < 2; i++) {
                OutputReader *r = i ? &x.r : readers[0];
                uint64_t seen = i ? 1000 : 0;
                int e;

                while ((e = output_next(r, &p)) == 1)
                        seen += p.frame.n + p.dropped;
                cr_assert_eq(e, 0, "%d", e);
                cr_assert(r->ended);
                cr_assert_eq(seen, total, "reader %zu: %ju of %ju", i, (uintmax_t)seen, (uintmax_t)total);
        }
        output_close(&late);
        world_deinit(&x);
}

/* a limit of a file's size stands for a disk without room. */
Test(output, without_room_bytes_are_counted_and_frames_stay_whole) {
        struct rlimit before, small = {.rlim_cur = 8192};
        static char chunk[3000];
        uint64_t kept = 0, lost = 0;
        OutputPiece p;
        World x;
        int e;

        world_init(&x);
        memset(chunk, 'y', sizeof(chunk));
        signal(SIGXFSZ, SIG_IGN);
        cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
        small.rlim_max = before.rlim_max;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        for (unsigned i = 0; i < 20; i++)
                output_add(x.w, OUTPUT_OUT, chunk, sizeof(chunk));
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
        output_add(x.w, OUTPUT_OUT, "end", 3);
        output_end(TAKE_PTR(x.w));
        while ((e = output_next(&x.r, &p)) == 1) {
                kept += p.frame.n;
                lost += p.frame.lost;
                cr_assert_eq(p.dropped, 0);
        }
        cr_assert_eq(e, 0);
        cr_assert(x.r.ended);
        cr_assert_eq(kept, 2 * sizeof(chunk) + 3, "%ju", (uintmax_t)kept);
        cr_assert_eq(lost, 18 * sizeof(chunk), "%ju", (uintmax_t)lost);
        world_deinit(&x);
}

/* each byte of a segment with another value: an answer, never a fault and never an endless series. */
Test(output, damaged_files_are_told) {
        char path[128], all[4096];
        unsigned damaged = 0;
        ssize_t n;
        World x;
        int fd;

        world_init(&x);
        output_add(x.w, OUTPUT_OUT, "first", 5);
        output_add(x.w, OUTPUT_ERR, "second", 6);
        output_end(TAKE_PTR(x.w));
        snprintf(path, sizeof(path), "%s/output/%s/1", x.dir, REGION);
        fd = open(path, O_RDWR | O_CLOEXEC);
        n = read(fd, all, sizeof(all));
        cr_assert(n > 0 && n < (ssize_t)sizeof(all));
        for (ssize_t i = 0; i < n; i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        const char other = (char)(all[i] ^ (1 << bit));
                        _cleanup_output_ OutputReader r = OUTPUT_READER_NULL;
                        unsigned pieces = 0;
                        OutputPiece p;
                        int e;

                        cr_assert_eq(pwrite(fd, &other, 1, i), 1);
                        cr_assert_eq(output_open(x.dir, REGION, &r), 0);
                        while ((e = output_next(&r, &p)) == 1) {
                                cr_assert_leq(p.frame.n, OUTPUT_FRAME_MAX);
                                cr_assert_lt(pieces++, 8);
                        }
                        cr_assert(e == 0 || e == OUTPUT_NEXT_DAMAGED, "byte %zd: %d", i, e);
                        damaged += e == OUTPUT_NEXT_DAMAGED;
                        cr_assert_eq(pwrite(fd, &all[i], 1, i), 1);
                }
        cr_assert_gt(damaged, 100);
        close(fd);
        snprintf(path, sizeof(path), "%s/output/%s/supervisor", x.dir, REGION);
        for (const char *const *t = (const char *const[]){"", "7", "7 1", "71\n", "7 1\n\n7 1\n", NULL}; *t; t++) {
                _cleanup_output_ OutputReader r = OUTPUT_READER_NULL;

                cr_assert_eq(io_write_file(AT_FDCWD, path, *t, strlen(*t), 0600, false), 0);
                cr_assert_eq(output_open(x.dir, REGION, &r), OUTPUT_E_DAMAGED, "'%s'", *t);
        }
        world_deinit(&x);
}

static bool is_free(void *userdata, uint64_t lock) {
        return lock == *(uint64_t *)userdata;
}

#define MANY 12

/* */
Test(output, beyond_the_policy_the_oldest_that_ended_go) {
        KeepPolicy policy = {.number = MANY, .age_usec = UINT64_MAX, .bytes = UINT64_MAX};
        OutputWriter *living[2];
        RegionId newest;
        uint64_t dead = 99;
        char path[128];
        World x;

        world_init(&x);
        for (unsigned i = 0; i < MANY; i++) {
                char id[REGION_ID_MAX];
                OutputWriter *w;

                snprintf(id, sizeof(id), "01hzy3v5q8r6x2m9d4k7c0%04u", i);
                cr_assert_eq(output_begin(x.dir, id, i + 1, false, &w), 0);
                if (i < ARRAY_SIZE(living))
                        living[i] = w;
                else
                        output_end(w);
        }
        for (unsigned round = 0; round < 4; round++) {
                /* none beyond; two beyond that live; the supervisor of the second died; the third is beyond */
                static const uint64_t number[] = {MANY + 1, MANY - 1, MANY - 1, MANY - 2}, is_dead[] = {99, 99, 2, 99};
                static const unsigned there[][3] = {{1, 1, 1}, {1, 1, 1}, {1, 0, 1}, {1, 0, 0}};

                policy.number = number[round];
                dead = is_dead[round];
                cr_assert_eq(output_trim(x.dir, &policy, is_free, &dead), 0);
                for (unsigned i = 0; i < 3; i++) {
                        snprintf(path, sizeof(path), "%s/output/01hzy3v5q8r6x2m9d4k7c0%04u", x.dir, i);
                        cr_assert_eq(access(path, F_OK) == 0, there[round][i], "round %u, region %u", round, i);
                }
        }
        cr_assert_eq(output_newest(x.dir, newest), 0);
        cr_assert_str_eq(newest, REGION);
        for (unsigned i = 0; i < ARRAY_SIZE(living); i++)
                output_end(living[i]);
        policy.age_usec = 0; /* all but the region of now are older */
        cr_assert_eq(output_trim(x.dir, &policy, is_free, &dead), 0);
        for (unsigned i = 0; i < MANY; i++) {
                snprintf(path, sizeof(path), "%s/output/01hzy3v5q8r6x2m9d4k7c0%04u", x.dir, i);
                cr_assert(access(path, F_OK) < 0, "%u", i);
        }
        world_deinit(&x);
}
