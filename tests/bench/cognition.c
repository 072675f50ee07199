/* Runs: benchmarks. One turn of a cognitive session with much evidence: in the library and as the command, on the wall and of the processor, each with its
 * durable commit.
 *
 *   cognition DIR ROUNDS PIECES LETHE
 *
 * The texts share most words, as logs do: every turn asks for words that all pieces have and for a host that a hundredth of them have. A long input is 4 KB of
 * a report in English. The tables show how a turn grows. */
#include "stats.h"

#include "base/clock.h"
#include "base/id.h"
#include "cognition/cognition.h"

#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned syncs;

int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd) {
        syncs++;
        return __real_fsync(fd);
}
int __wrap_fdatasync(int fd) {
        syncs++;
        return __real_fdatasync(fd);
}

_noreturn_ static void fail(const char *what, const char *why) {
        fprintf(stderr, "cognition: %s: %s\n", what, why);
        exit(1);
}

static uint64_t cpu_nsec(clockid_t clock) {
        struct timespec t;

        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static Txn *begin(Store *s) {
        Diag d = {};
        Txn *t;

        if (store_begin(s, true, &t, &d) != 0)
                fail("store", d.text);
        return t;
}

static void end(Txn *t) {
        Diag d = {};

        if (store_commit(t, &d) != 0)
                fail("store", d.text);
}

static void fill(Store *s, const char *session, unsigned pieces) {
        char text[256];

        for (unsigned i = 0; i < pieces;) {
                Txn *t = begin(s);

                for (unsigned batch = 0; batch < 16 && i < pieces; batch++) {
                        json_t *documents = json_array(), *in, *o = NULL;
                        Diag d = {};

                        for (unsigned k = 0; k < COGNITION_TEXTS_MAX && i < pieces; k++, i++) {
                                snprintf(text, sizeof text, "host h%u in Concord at step %u: the replica lag of db%u was %u s, queue %u, region west, no errors in the log",
                                         i % 100, i, i % 7, i % 60, i * 7919 % 100000);
                                json_array_append_new(documents, json_string(text));
                        }
                        in = json_pack("{s:o, s:s}", "documents", documents, "source", "tool");
                        if (cognition_store(t, "uid:0", session, in, &o, &d) != 0)
                                fail("store", d.text);
                        json_decref(in);
                        json_decref(o);
                }
                end(t);
        }
}

static json_t *input(unsigned round) {
        char text[256];

        snprintf(text, sizeof text, "What is the replica lag of host h%u in Concord now, and how long is the queue of db%u?", round % 100, round % 7);
        return json_pack("{s:s}", "input", text);
}

static json_t *long_input(unsigned round) {
        char text[4096];
        size_t n = 0;

        for (unsigned k = 0; n + 200 < sizeof text; k++)
                n += (size_t)snprintf(text + n, sizeof text - n, "At step %u host h%u was slow for %u s, so Maria Lopez moved the %s of db%u to the spare disk; %s. ", 40 * round + k,
                                      (round + k) % 100, (7 * k + round) % 60, k % 2 ? "queue" : "journal", k % 7, k % 3 ? "the replica lag fell" : "nothing else changed");
        return json_pack("{s:s}", "input", text);
}

/* As `lethe ccs turn` does, with the opening of the store. Takes `in` over. */
static pid_t spawn(const char *lethe, const char *store, const char *session, json_t *in, struct rusage *ret) {
        char *argv[] = {(char *)lethe, "ccs", "turn", "--store", (char *)store, "--json", (char *)session, NULL}, *text;
        extern char **environ;
        posix_spawn_file_actions_t files;
        int fd[2], status;
        pid_t pid;

        text = json_dumps(in, JSON_COMPACT);
        if (!text || pipe(fd) < 0 || write(fd[1], text, strlen(text)) < 0)
                fail("pipe", "no input");
        close(fd[1]);
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, fd[0], 0);
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 01, 0);
        if (posix_spawn(&pid, lethe, &files, NULL, argv, environ) != 0 || wait4(pid, &status, 0, ret) != pid || status != 0)
                fail(lethe, "no turn");
        posix_spawn_file_actions_destroy(&files);
        close(fd[0]);
        free(text);
        json_decref(in);
        return pid;
}

static uint64_t rusage_nsec(const struct rusage *u) {
        return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000 + (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

static void print(const char *what, unsigned pieces, const char *of, uint64_t *nsec, unsigned rounds) {
        char name[96];

        snprintf(name, sizeof name, "%s, %u pieces%s", what, pieces, of);
        bench_print(name, nsec, rounds, 1);
}

int main(int argc, char **argv) {
        unsigned rounds = argc > 4 ? (unsigned)atoi(argv[2]) : 0, pieces = argc > 4 ? (unsigned)atoi(argv[3]) : 0, before;
        uint64_t *wall = calloc(rounds + 1, sizeof *wall), *cpu = calloc(rounds + 1, sizeof *cpu), turn = 0;
        char session[4 + REGION_ID_MAX];
        json_t *o = NULL;
        Diag d = {};
        Store *s;
        Txn *t;

        if (rounds == 0 || !wall || !cpu)
                return 2;
        if (store_open(argv[1], STORE_WRITE, &s, &d) != 0)
                fail(argv[1], d.text);
        t = begin(s);
        if (cognition_begin(t, &(CognitionBegin){.who = "uid:0", .role = "Never restart the primary database.", .n_role = 35, .now_usec = clock_real_usec()}, &o,
                            &d) != 0)
                fail("begin", d.text);
        snprintf(session, sizeof session, "%s", json_str(o, "session"));
        json_decref(o);
        end(t);
        fill(s, session, pieces);
        before = syncs;
        for (unsigned i = 0; i < rounds; i++) {
                json_t *in = input(i);

                cpu[i] = cpu_nsec(CLOCK_PROCESS_CPUTIME_ID);
                wall[i] = bench_nsec();
                t = begin(s);
                o = NULL;
                if (cognition_turn(t, "uid:0", session, in, &o, &d) != 0)
                        fail("turn", d.text);
                end(t);
                wall[i] = bench_nsec() - wall[i];
                cpu[i] = cpu_nsec(CLOCK_PROCESS_CPUTIME_ID) - cpu[i];
                turn = json_number(o, "turn");
                if (pieces > 0 && json_array_size(json_object_get(o, "evidence")) == 0)
                        fail("turn", "nothing was recalled");
                json_decref(o);
                json_decref(in);
        }
        fprintf(stderr, "cognition: %u pieces: %u synchronisations in %u turns\n", pieces, syncs - before, rounds);
        print("a turn", pieces, "", wall, rounds);
        print("a turn", pieces, ", processor", cpu, rounds);
        store_free(s);
        for (unsigned longer = 0; longer < 2; longer++) {
                const char *what = longer ? "lethe ccs turn of 4 KB" : "lethe ccs turn";

                for (unsigned i = 0; i < rounds; i++) {
                        json_t *in = longer ? long_input(i) : input(rounds + i);
                        struct rusage u;

                        wall[i] = bench_nsec();
                        spawn(argv[4], argv[1], session, in, &u);
                        wall[i] = bench_nsec() - wall[i];
                        cpu[i] = rusage_nsec(&u);
                }
                print(what, pieces, "", wall, rounds);
                print(what, pieces, ", processor", cpu, rounds);
        }
        free(wall);
        free(cpu);
        return turn == rounds ? 0 : 1;
}
