#include "base/clock.h"
#include "spawn/find.h"
#include "spawn/private.h"
#include "tests/isolation/spawn/region.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PROBE_ARGV(...) ((const char *const[]){LETHE_PROBE, __VA_ARGS__, NULL})

static void run_in_child(const RunWish *w, int (*body)(void *)) {
        child_assert_ok(body, (void *)w);
}

/* Every region of these tests ends with nothing left; the wrapper that the tests run under fails on a process that is. */
static RunEnd run(const RunWish *w) {
        RunEnd e;

        region_try(w, &e);
        child_check(e.start == 0);
        child_check(!e.hung);
        child_check(e.prove == 0);
        return e;
}

static int exit_codes(void *arg) {
        for (size_t t = 0; t < region_tiers_here(); t++) {
                RunWish w = {.argv = PROBE_ARGV("exit", "7"), .program = LETHE_PROBE, .tier = region_tiers[t]};
                RunEnd e = run(&w);

                child_check(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 7);
                w.argv = PROBE_ARGV("signal", "11");
                e = run(&w);
                child_check(WIFSIGNALED(e.status) && WTERMSIG(e.status) == SIGSEGV);
                child_check(!WCOREDUMP(e.status));
        }
        return 0;
}

Test(spawn_life, the_wait_status_is_the_programs) {
        run_in_child(NULL, exit_codes);
}

static int exec_failures(void *arg) {
        static const struct {
                const char *argv0;
                int error;
        } rows[] = {{"/usr/bin/no-such-program", ENOENT}, {"no-such-program", ENOENT}, {"/etc/passwd", EACCES}, {"/usr", EACCES},
                    {"/usr/bin/env/x", ENOTDIR}, {"", ENOENT}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const RunWish w = {.argv = (const char *const[]){rows[i].argv0, NULL}};
                RunEnd e = run(&w);

                child_say("%s: %d %d", rows[i].argv0, e.step, e.error);
                child_check(e.step == STEP_EXEC && e.error == rows[i].error && e.status == -1);
        }
        return 0;
}

Test(spawn_life, a_program_that_cannot_be_executed_is_told_apart) {
        run_in_child(NULL, exec_failures);
}

/* I-34: what ignores signals, has a session of its own or is stopped ends with the region, too. */
static int left_behind(void *arg) {
        for (size_t t = 0; t < region_tiers_here(); t++) {
                const RunWish w = {.argv = PROBE_ARGV("leave"), .program = LETHE_PROBE, .tier = region_tiers[t]};
                RunEnd e = run(&w);

                child_check(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 0 && strstr(e.out, "left"));
                child_check(!e.orphans); /* the worker saw to it, before anybody else had to */
                child_check(region_no_child_is_left());
        }
        return 0;
}

Test(spawn_life, what_a_program_leaves_behind_ends_with_it) {
        run_in_child(NULL, left_behind);
}

static int killed(void *arg) {
        for (size_t t = 0; t < region_tiers_here(); t++) {
                RunWish w = {.argv = (const char *const[]){"sh", "-c", "(trap '' TERM HUP; sleep 1000 & sleep 1000) & echo on; sleep 1000", NULL},
                             .tier = region_tiers[t], .kill_when_running = true};
                RunEnd e = run(&w);

                child_check(strstr(e.out, "on"));
                w.kill_when_running = false;
                w.kill_when_ready = true;
                e = run(&w);
                child_check(*e.out == 0);
                w.kill_when_ready = false;
                w.close_lifeline = true;
                e = run(&w);
                child_check(strstr(e.out, "on"));
                child_check(region_no_child_is_left());
        }
        return 0;
}

Test(spawn_life, kill_and_a_closed_lifeline_end_the_whole_tree) {
        run_in_child(NULL, killed);
}

/* The supervisor is a child of this one and is killed while its region runs; we, a subreaper, inherit what it leaves. */
static int supervisor_dies(void *arg) {
        child_check(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
        for (size_t t = 0; t < region_tiers_here(); t++) {
                char name[32], scratch[64], c;
                int seen[2], status;
                pid_t pid;

                snprintf(name, sizeof(name), "test-%d", (int)getpid());
                child_check(pipe2(seen, O_CLOEXEC) == 0);
                pid = fork();
                if (pid == 0) {
                        const RunWish w = {.argv = PROBE_ARGV("hang"), .program = LETHE_PROBE, .tier = region_tiers[t], .tell = seen[1],
                                           .region = name};
                        RunEnd e;

                        region_try(&w, &e);
                        _exit(0);
                }
                close(seen[1]);
                child_check(read(seen[0], &c, 1) == 1); /* the program runs */
                close(seen[0]);
                child_check(kill(pid, SIGKILL) == 0);
                /* All of it comes to us dead or dying; nothing is killed by us. A survivor would make this wait for ever. */
                while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
                        ;
                child_check(errno == ECHILD);
                /* Tier landlock: the scratch is what recovery finds and removes. An ordinary user's is in the store. */
                snprintf(scratch, sizeof(scratch), "/tmp/lethe-%s", name);
                child_check(geteuid() != 0 || region_tiers[t] == TIER_NAMESPACES || access(scratch, F_OK) == 0);
                child_check(spawn_scratch_remove(scratch) == 0 && access(scratch, F_OK) < 0);
        }
        return 0;
}

Test(spawn_life, the_region_dies_with_its_supervisor) {
        run_in_child(NULL, supervisor_dies);
}

static int bad_sources(void *arg) {
        TempDir t = TEMP_DIR_NULL;
        char here[PATH_MAX + 16], link[PATH_MAX + 16], below[PATH_MAX + 32];
        FileGrant f = {(char *)"/no/such/file", (char *)"/data", false};
        RunWish w = {.argv = PROBE_ARGV("exit", "0"), .program = LETHE_PROBE, .files = &f, .n_files = 1};
        RunEnd e;

        child_check(temp_dir_make(&t) == 0);
        snprintf(here, sizeof(here), "%s/real", t.path);
        snprintf(link, sizeof(link), "%s/link", t.path);
        snprintf(below, sizeof(below), "%s/link/x", t.path);
        child_check(mkdir(here, 0755) == 0 && symlink("real", link) == 0);
        region_try(&w, &e);
        child_check(e.start == SPAWN_E_SOURCE && strstr(e.message, "/no/such/file"));
        /* A link that was put there after the policy had looked leads nowhere. */
        f.source = link;
        region_try(&w, &e);
        child_check(e.start == SPAWN_E_SOURCE || (e.start == 0 && e.step == STEP_BIND && e.error == ELOOP && strstr(e.message, link)));
        child_check(e.status == -1);
        temp_dir_remove(&t);
        return 0;
}

Test(spawn_life, a_source_that_is_not_what_was_granted_is_refused) {
        run_in_child(NULL, bad_sources);
}

/* CVE-2021-30465: a link inside a folder that was bound first must not carry the next mount point to the host's tree, and no mount
 * point is made in a folder of the host. */
static int mount_points(void *arg) {
        TempDir t = TEMP_DIR_NULL;
        char data[PATH_MAX + 16], victim[PATH_MAX + 16], link[PATH_MAX + 32], inside[PATH_MAX + 32];
        FileGrant f[2] = {{data, (char *)"/data", true}, {NULL, NULL, false}};
        RunWish w = {.argv = PROBE_ARGV("exit", "0"), .program = LETHE_PROBE, .files = f, .n_files = 2};
        struct stat st;
        RunEnd e;

        child_check(temp_dir_make(&t) == 0 && chmod(t.path, 0755) == 0);
        snprintf(data, sizeof(data), "%s/data", t.path);
        snprintf(victim, sizeof(victim), "%s/victim", t.path);
        snprintf(link, sizeof(link), "%s/link", data);
        snprintf(inside, sizeof(inside), "%s/new", data);
        child_check(mkdir(data, 0755) == 0 && mkdir(victim, 0755) == 0 && symlink(victim, link) == 0);
        f[1] = (FileGrant){victim, (char *)"/data/link/made", false};
        region_try(&w, &e);
        child_check(e.start == 0 && e.step == STEP_BIND && e.error == ELOOP);
        f[1].target = (char *)"/data/link";
        region_try(&w, &e);
        child_check(e.start == 0 && e.step == STEP_BIND && e.error == ENOTDIR);
        f[1].target = (char *)"/data/new";
        region_try(&w, &e);
        child_check(e.start == 0 && e.step == STEP_BIND && e.error == EROFS);
        child_check(lstat(inside, &st) < 0 && errno == ENOENT);
        snprintf(inside, sizeof(inside), "%s/made", victim);
        child_check(lstat(inside, &st) < 0 && errno == ENOENT);
        temp_dir_remove(&t);
        return 0;
}

Test(spawn_life, no_mount_point_leads_out_or_is_made_in_the_hosts_tree) {
        run_in_child(NULL, mount_points);
}

static size_t count_fds(void) {
        DIR *d = opendir("/proc/self/fd");
        size_t n = 0;

        while (d && readdir(d))
                n++;
        if (d)
                closedir(d);
        return n;
}

static size_t count_entries(const char *path) {
        DIR *d = opendir(path);
        struct dirent *e;
        size_t n = 0;

        while (d && (e = readdir(d)))
                n += e->d_name[0] != '.';
        if (d)
                closedir(d);
        return n;
}

/* Fails at the first point that can fail, then at the second, until a start succeeds: each time nothing is left behind. */
static int faults(void *arg) {
        for (size_t t = 0; t < region_tiers_here(); t++) {
                TempDir store = TEMP_DIR_NULL;
                char scratch[PATH_MAX + 16], name[32], outside[64];
                RunWish w = {.argv = PROBE_ARGV("exit", "0"), .program = LETHE_PROBE, .tier = region_tiers[t], .region = name};
                RunEnd e;
                int point;

                child_check(temp_dir_make(&store) == 0);
                snprintf(scratch, sizeof(scratch), "%s/scratch", store.path);
                snprintf(name, sizeof(name), "test-%d", (int)getpid());
                snprintf(outside, sizeof(outside), "/tmp/lethe-%s", name);
                w.store = store.path;
                region_try(&w, &e); /* makes what is kept: cache, scratch */
                child_check(e.start == 0 && e.status == 0);
                for (point = 1; point < 100; point++) {
                        size_t fds = count_fds();

                        spawn_fault = point;
                        region_try(&w, &e);
                        if (e.start == 0 && spawn_fault > 0) /* it was not reached */
                                break;
                        child_check(e.start != 0 || (REGION_WAY >= 2 && e.status == 0)); /* a template that failed is done without */
                        spawn_fault = 0;
                        child_check(count_fds() == fds);
                        child_check(count_entries(scratch) == 0 && access(outside, F_OK) < 0);
                        child_check(region_no_child_is_left());
                }
                spawn_fault = 0;
                child_say("%d points", point - 1);
                child_check(point > 8 && point < 100);
                temp_dir_remove(&store);
        }
        return 0;
}

Test(spawn_life, a_start_that_fails_at_any_point_leaves_nothing) {
        run_in_child(NULL, faults);
}

static int no_worker(void *arg) {
        Grant g = {.argv = (char *[]){(char *)"true", NULL}, .min_tier = TIER_NAMESPACES};
        Spawned s = SPAWNED_NULL;
        Diag d = {0};
        Probe p;
        SpawnRequest r = {.grant = &g, .probe = &p, .region = "r", .store_dir = "/tmp", .io = {0, 1, 2, 0, 1}};

        probe_quick(&p);
        find_set_folder("/nowhere");
        child_check(spawn_start(&r, &s, &d) == SPAWN_E_WORKER && strstr(d.text, "lethe-worker"));
        p.landlock_abi = 0;
        child_check(spawn_start(&r, &s, &d) == SPAWN_E_TIER && strstr(d.text, "Landlock") && strstr(d.text, "fix:"));
        p.landlock_abi = 7;
        p.userns_denied = USERNS_DENIED_APPARMOR;
        child_check(spawn_start(&r, &s, &d) == SPAWN_E_TIER && strstr(d.text, "AppArmor") && strstr(d.text, "fix:"));
        g.tier = g.min_tier = TIER_LANDLOCK;
        p.landlock_abi = 5;
        child_check(spawn_start(&r, &s, &d) == SPAWN_E_TIER && strstr(d.text, "6.12"));
        return 0;
}

Test(spawn_life, what_is_missing_is_named_with_its_fix) {
        run_in_child(NULL, no_worker);
}

/* The languages that a skill is written in start under the default budget, as root's supervisor and as a user's. */
static int languages(void *arg) {
        static const struct {
                const char *const argv[4];
                const char *out;
                bool optional;
        } rows[] = {
                {{"sh", "-c", "echo ok $((6*7))", NULL}, "ok 42", false},
                {{"python3", "-c", "import json,hashlib,subprocess; print('ok', subprocess.run(['true']).returncode)", NULL}, "ok 0", false},
                {{"perl", "-e", "print 'ok ', 6*7", NULL}, "ok 42", false},
                {{"node", "-e", "require('crypto'); console.log('ok', 6*7)", NULL}, "ok 42", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (int k = 0; k < 2; k++) {
                        const RunWish w = {.argv = rows[i].argv, .no_memory_cgroup = true, .no_tasks_cgroup = true, .report_paths = k == 1,
                                           .budget = {.scratch_bytes = 64 << 20, .file_bytes = 64 << 20}};
                        RunEnd e = run(&w);

                        if (rows[i].optional && e.step == STEP_EXEC)
                                continue;
                        child_say("%s: status %d, %s, denied %s\n", rows[i].argv[0], e.status, e.out, e.denied);
                        child_check(e.status == 0 && strstr(e.out, rows[i].out));
                        child_check(*e.denied == 0);
                }
        return 0;
}

Test(spawn_life, shells_and_interpreters_start_under_128_megabytes) {
        run_in_child(NULL, languages);
}

/* Version 1: the program enters the group by itself, and the worker stays out. Groups of version 2 are in
 * tests/system/machine.py. */
static int in_cgroups(void *arg) {
        static const char place[] = "/sys/fs/cgroup/pids";
        char folder[128], procs[160];
        const char *list[] = {folder, NULL};
        const RunWish w = {.argv = (const char *const[]){"sh", "-c", "echo on; sleep 1000 & sleep 1000", NULL}, .kill_when_running = true,
                           .peek = procs, .cgroups = list};
        int n = 0;
        RunEnd e;

        if (access(place, F_OK) < 0) /* this machine has version 2 alone */
                return 0;
        snprintf(folder, sizeof(folder), "%s/lethe-test-%d", place, (int)getpid());
        snprintf(procs, sizeof(procs), "%s/cgroup.procs", folder);
        if (mkdir(folder, 0755) < 0) { /* an ordinary user has no group of its own */
                child_check(geteuid() != 0);
                return 0;
        }
        region_try(&w, &e);
        for (const char *p = e.peeked; *p; p++)
                n += *p == '\n';
        child_say("%s: %d processes; start %d, prove %d: %s\n", folder, n, e.start, e.prove, e.message);
        child_check(e.start == 0 && e.prove == 0);
        child_check(n >= 1);
        child_check(rmdir(folder) == 0);
        return 0;
}

Test(spawn_life, the_region_is_in_the_cgroups_that_it_was_given) {
        run_in_child(NULL, in_cgroups);
}

/* Deeper than descriptors or a stack would reach, closed folders, links, and names like our own. */
static int deep_scratch(void *arg) {
        char path[PATH_MAX], victim[PATH_MAX];
        TempDir t = TEMP_DIR_NULL;
        int fd, next;

        child_check(temp_dir_make(&t) == 0);
        snprintf(path, sizeof(path), "%.4000s/scratch", t.path);
        snprintf(victim, sizeof(victim), "%.4000s/victim", t.path);
        child_check(mkdir(path, 0700) == 0 && mkdir(victim, 0700) == 0);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        child_check(fd >= 0 && mkdirat(fd, "moved-0", 0700) == 0 && symlinkat(victim, fd, "moved-1") == 0 && symlinkat(victim, fd, "link") == 0);
        for (int i = 0; i < 3000; i++) {
                child_check(mkdirat(fd, "d", 0700) == 0);
                next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                child_check(next >= 0 && symlinkat("/", next, "root") == 0);
                close(fd);
                fd = next;
        }
        child_check(mkdirat(fd, "closed", 0700) == 0 && mkdirat(fd, "closed/more", 0) == 0 && fchmodat(fd, "closed", 0, 0) == 0);
        close(fd);
        child_check(spawn_scratch_remove(path) == 0);
        child_check(access(path, F_OK) < 0 && access(victim, F_OK) == 0);
        child_check(spawn_scratch_remove(path) == 0);
        child_check(spawn_scratch_remove("/dev/null/x") < 0);
        temp_dir_remove(&t);
        return 0;
}

Test(spawn_life, a_scratch_folder_of_any_depth_is_removed) {
        run_in_child(NULL, deep_scratch);
}
