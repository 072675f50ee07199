/* Runs: CLI. Checks of `lethe doctor`: the places that a run would use, the surroundings of the process, and a trial
 * run. */
#include "cli/doctor.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/proc.h"
#include "cli/serve-call.h"
#include "cli/with-store.h"
#include "request/paths.h"
#include "policy/policy.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_MSEC 60000

static bool doctor_has(const char *variable) {
        const char *v = getenv(variable);

        return v && *v;
}

/* The source of the store's place, in the order of path_of_store(). */
static const char *doctor_store_from(const char *given, const char *store) {
        return given                                                    ? "--store"
               : doctor_has("LETHE_STORE")                              ? "LETHE_STORE"
               : *(getenv("XDG_STATE_HOME") ?: "") == '/'               ? "XDG_STATE_HOME"
               : strncmp(store, PLACE_OF_UNIT, strlen(PLACE_OF_UNIT)) == 0 ? "lethe.service"
                                                                        : "HOME";
}

/* The nearest existing folder above a store that does not exist yet; its rights decide whether the store can be
 * made. Returns the folder, owned. */
static char *doctor_existing(const char *path) {
        char *p = strdup(path);

        while (p && *p && access(p, F_OK) < 0 && strrchr(p, '/'))
                *strrchr(p, '/') = 0;
        if (p && !(*p && (strchr(p, '/') || access(p, F_OK) == 0))) {
                const char *begins = *p ? "." : "/"; /* no part of a relative path exists */

                free(p);
                return strdup(begins);
        }
        return p;
}

static bool doctor_store(ProbeReport *r, const char *given, const char *store) {
        _cleanup_free_ char *above = doctor_existing(store);
        const char *from = doctor_store_from(given, store);
        static const char wrong[] = "no record is possible, so no region runs",
                          fix[] = "--store DIR, or LETHE_STORE, with a folder of yours";
        struct statvfs fs;
        struct stat st;
        Diag d = {0};

        if (!above || stat(above, &st) < 0 || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR)) ||
            access(above, W_OK | X_OK) < 0) {
                probe_add(r, "store", PROBE_FAIL, wrong, fix, "%.150s (%s): %s", store, from, strerror(errno));
                return false;
        }
        if (strcmp(above, store) == 0 && access(store, F_OK) == 0) {
                _cleanup_store_ Store *s = NULL;
                int e = store_open(store, STORE_SUPERVISE, &s, &d);

                if (e != 0) {
                        probe_add(r, "store", PROBE_FAIL, wrong, fix, "%.100s (%s): %.120s", store, from,
                                  *d.text ? d.text : store_strerror(e));
                        return false;
                }
        }
        probe_add(r, "store", PROBE_OK, access(store, F_OK) == 0 ? "" : "made on first use", "", "%.200s (%s)", store,
                  from);
        if (statvfs(above, &fs) == 0 && (fs.f_flag & ST_NOEXEC))
                probe_add(
                        r, "store-noexec", PROBE_NOTE,
                        "copies of programs and skills are in the store; regions execute the copies by mounts of their own, which keep noexec",
                        "a store on a file system without noexec, where a run below fails", "%.200s is mounted noexec",
                        above);
        return true;
}

static void doctor_anchor(ProbeReport *r) {
        const char *home = getenv("HOME"), *state = getenv("XDG_STATE_HOME");

        if (doctor_has("LETHE_ANCHOR"))
                probe_add(r, "anchor", PROBE_OK, "a restored old store is noticed", "", "%.200s (LETHE_ANCHOR)",
                          getenv("LETHE_ANCHOR"));
        else if ((state && *state == '/') || (home && *home == '/'))
                probe_add(r, "anchor", PROBE_OK, "a restored old store is noticed", "", "%.180s%s (%s)",
                          state && *state == '/' ? state : home,
                          state && *state == '/' ? "/lethe-anchors" : "/.local/state/lethe-anchors",
                          state && *state == '/' ? "XDG_STATE_HOME" : "HOME");
        else
                probe_add(r, "anchor", PROBE_WARN,
                          "the anchor is inside the store: a restore of an old store restores the old anchor, too",
                          "set HOME, XDG_STATE_HOME or LETHE_ANCHOR", "no place outside the store");
}

static void doctor_policy(ProbeReport *r) {
        _cleanup_free_ char *path = NULL;
        _cleanup_policy_ Policy *p = NULL;
        Diag d = {0};

        if (policy_place(&path) < 0)
                return;
        if (!path)
                probe_add(r, "policy", PROBE_OK, "the built-in rules", "", "none");
        else if (policy_load(NULL, &p, &d) != 0)
                probe_add(r, "policy", PROBE_FAIL, "no region runs by a broken policy",
                          "mend the file, or name another file (LETHE_POLICY)", "%.120s: %.130s", path, d.text);
        else
                probe_add(r, "policy", PROBE_OK, "", "", "%.200s (%s)", path,
                          doctor_has("LETHE_POLICY")       ? "LETHE_POLICY"
                          : strncmp(path, "/etc/", 5) == 0 ? "the system"
                                                           : "this user");
}

/* Checks the daemon that `lethe run` would ask, and the daemon's store. False: each run would wait for the daemon. */
static bool doctor_socket(ProbeReport *r, const char *store) {
        _cleanup_free_ char *path = path_of_socket(NULL, &(Diag){});
        const char *from = doctor_has("LETHE_SOCKET") ? "LETHE_SOCKET"
                           : geteuid() == 0           ? "the system"
                                                      : "XDG_RUNTIME_DIR";
        static const char alone[] = "'lethe run' runs without a daemon";
        _cleanup_json_ json_t *v = NULL;
        _cleanup_close_ int fd = -1;
        const char *theirs, *message;
        struct stat a, b;
        int e;

        if (strcmp(getenv("LETHE_SERVE") ?: "", "0") == 0 || !path) {
                probe_add(r, "socket", PROBE_OK, alone, "",
                          path ? "no daemon is asked (LETHE_SERVE)"
                               : "no daemon: neither LETHE_SOCKET nor XDG_RUNTIME_DIR is set");
                return true;
        }
        fd = path_ask(path);
        if (fd < 0) {
                probe_add(r, "socket", fd == -EACCES ? PROBE_NOTE : PROBE_OK, alone,
                          fd == -EACCES ? "clients in the daemon's policy" : "", "%.150s (%s): %s", path, from,
                          fd == -ENOENT || fd == -ECONNREFUSED ? "no daemon"
                          : fd == -EPERM                       ? "another user listens there, whom root does not ask"
                                                               : strerror(-fd));
                return true;
        }
        e = serve_call_soon(fd, path, "ping", json_object(), &v);
        if (e == -ETIMEDOUT) {
                probe_add(r, "socket", PROBE_FAIL, "each run waits for the daemon there",
                          "end or continue (kill -CONT) the daemon; 'lethe run --no-serve' does not ask a daemon",
                          "%.150s (%s): a daemon that does not answer", path, from);
                return false;
        }
        theirs = cli_text(json_object_get(v, "result"), "store");
        message = cli_text(json_object_get(v, "error"), "message");
        if (e < 0 || !theirs)
                probe_add(r, "socket", PROBE_NOTE, alone, "clients in the daemon's policy", "%.100s (%s): %.100s", path,
                          from, message ?: "no answer");
        else if (strcmp(theirs, store) == 0 ||
                 (stat(theirs, &a) == 0 && stat(store, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino))
                probe_add(r, "socket", PROBE_OK, "a daemon of the same store answers", "", "%.200s (%s)", path, from);
        else
                probe_add(r, "socket", PROBE_NOTE, "'lethe run' runs without the daemon, with the store above",
                          "LETHE_STORE with the daemon's store", "%.90s (%s): the daemon's store is %.100s", path, from,
                          theirs);
        return true;
}

bool doctor_places(ProbeReport *r, const char *given, const char *store) {
        bool ok = doctor_store(r, given, store);

        doctor_anchor(r);
        doctor_policy(r);
        return doctor_socket(r, store) && ok;
}

static bool doctor_read(const char *path, char *text, size_t room) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

        text[MAX(n, 0)] = 0;
        return n > 0;
}

/* A filter or limits around the process, from a unit or a container, look like missing features of the kernel. */
void doctor_surroundings(ProbeReport *r) {
        static const struct {
                int which;
                const char *name, *unit;
                rlim_t least;
        } limits[] = {{RLIMIT_AS, "RLIMIT_AS", "LimitAS= of the unit, ulimit -v", RLIM_INFINITY},
                      {RLIMIT_DATA, "RLIMIT_DATA", "LimitDATA= of the unit, ulimit -d", RLIM_INFINITY},
                      {RLIMIT_NOFILE, "RLIMIT_NOFILE", "LimitNOFILE= of the unit, ulimit -n", 256},
                      {RLIMIT_NPROC, "RLIMIT_NPROC", "LimitNPROC= of the unit, ulimit -u", 64}};
        char text[8192], profile[128];
        const char *p;

        if (proc_apparmor(profile, sizeof(profile)))
                probe_add(
                        r, "apparmor-around", PROBE_NOTE,
                        "a refusal below may come from the profile, and not from the kernel",
                        "a profile with flags=(attach_disconnected) that allows userns, mount, pivot_root, ptrace, signal, capability, unix and file, or no profile",
                        "AppArmor's profile \"%.100s\" confines the process", profile);
        if (doctor_read("/proc/self/status", text, sizeof(text)) && (p = strstr(text, "\nSeccomp:")) &&
            atoi(p + strlen("\nSeccomp:")) != 0)
                probe_add(
                        r, "filter-around", PROBE_NOTE,
                        "a refusal below may come from the filter, and not from the kernel",
                        "of a unit: SystemCallFilter=, RestrictSUIDSGID=, RestrictNamespaces=, ProtectHostname=, MemoryDenyWriteExecute=; of a container: its seccomp profile",
                        "a system call filter was set around the process");
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                struct rlimit l;

                if (getrlimit(limits[i].which, &l) == 0 && l.rlim_max != RLIM_INFINITY && l.rlim_max < limits[i].least)
                        probe_add(r, "limit-around", PROBE_NOTE, "the limit may be the cause of a failed run below",
                                  limits[i].unit, "%s is %llu", limits[i].name, (unsigned long long)l.rlim_max);
        }
}

/* Keeps only the last line of the trial run's output. */
static void doctor_last_line(char *said) {
        char *p;

        for (size_t n = strlen(said); n > 0 && (said[n - 1] == '\n' || said[n - 1] == ' ');)
                said[--n] = 0;
        p = strrchr(said, '\n');
        if (p)
                memmove(said, p + 1, strlen(p + 1) + 1);
}

static int doctor_start(const char *folder, const char *const *words, int out, pid_t *ret) {
        char store[PATH_MAX], anchor[PATH_MAX];
        const char *argv[64] = {"lethe", "run", "--no-serve", "--store", store, "--anchor", anchor};
        size_t n = 7;
        posix_spawn_file_actions_t a;
        int e;

        while (*words && n < ARRAY_SIZE(argv) - 1)
                argv[n++] = *words++;
        snprintf(store, sizeof(store), "%.2000s/store", folder);
        snprintf(anchor, sizeof(anchor), "%.2000s/anchor", folder);
        posix_spawn_file_actions_init(&a);
        posix_spawn_file_actions_addopen(&a, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&a, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&a, out, 2);
        e = posix_spawn(ret, "/proc/self/exe", &a, NULL, (char *const *)argv, environ);
        posix_spawn_file_actions_destroy(&a);
        return -e;
}

/* Makes a folder for the trial run: where the store would be made, to prove that a store can be made there; beside
 * an existing store, in any place. */
bool doctor_folder(const char *store_or_null, char ret[static PATH_MAX]) {
        _cleanup_free_ char *above = store_or_null ? doctor_existing(store_or_null) : NULL;
        bool there = above && strcmp(above, store_or_null) == 0;
        char *last;

        if (above && !there) {
                snprintf(ret, PATH_MAX, "%.3000s/.lethe-doctor-XXXXXX", above);
                return mkdtemp(ret);
        }
        snprintf(ret, PATH_MAX, "/tmp/lethe-doctor-XXXXXX");
        if (mkdtemp(ret))
                return true;
        if (!there)
                return false;
        last = strrchr(above, '/');
        if (last)
                *last = 0;
        snprintf(ret, PATH_MAX, "%.3000s/.lethe-doctor-XXXXXX", last ? above : ".");
        return mkdtemp(ret);
}

int doctor_try(const char *folder, const char *const *words, unsigned msec, char said[static DOCTOR_SAID_MAX]) {
        uint64_t until = clock_mono_usec() + msec * UINT64_C(1000);
        int p[2], e, status = -1;
        size_t n = 0;
        pid_t pid;

        *said = 0;
        if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        e = doctor_start(folder, words, p[1], &pid);
        close(p[1]);
        while (e == 0 && clock_mono_usec() < until) {
                struct pollfd f = {.fd = p[0], .events = POLLIN};
                ssize_t got;

                if (poll(&f, 1, (int)((until - MIN(until, clock_mono_usec())) / 1000)) <= 0)
                        break;
                if (n == DOCTOR_SAID_MAX - 1) { /* the last line counts */
                        memmove(said, said + n / 2, n - n / 2);
                        n -= n / 2;
                }
                got = read(p[0], said + n, DOCTOR_SAID_MAX - 1 - n);
                if (got <= 0)
                        break;
                n += (size_t)got;
        }
        said[n] = 0;
        close(p[0]);
        if (e < 0)
                return e;
        if (clock_mono_usec() >= until)
                kill(pid, SIGTERM);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        doctor_last_line(said);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool doctor_run(ProbeReport *r, const char *store, bool landlock_alone) {
        static const char *const words[] = {"--timeout", "20s", "--exec", "/bin/true", NULL};
        static const char meaning[] = "a trial run with a store of its own, removed afterwards";
        char folder[PATH_MAX], said[DOCTOR_SAID_MAX];
        int e;

        if (!doctor_folder(store, folder)) {
                probe_add(r, "run", PROBE_FAIL, meaning, "a writable folder, for the store or as /tmp", "%.100s: %s",
                          folder, strerror(errno));
                return false;
        }
        e = doctor_try(folder, words, RUN_MSEC, said);
        spawn_scratch_remove(folder);
        if (e == 0) {
                probe_add(r, "run", PROBE_OK, meaning, "", "works");
                return true;
        }
        if (!*said)
                snprintf(said, sizeof(said), "%s", e < 0 ? strerror(-e) : "ended without a message");
        probe_add(
                r, "run", PROBE_FAIL, meaning,
                landlock_alone
                        ? "the failed checks above; or a policy with \"min_tier\": \"landlock\", which isolates less (lethe-isolation(7))"
                        : "the failed checks above, or the message",
                "%.240s", said);
        return false;
}
