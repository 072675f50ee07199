#include "region/region-cgroup-home.h"

#include "base/child-registry.h"
#include "base/clock.h"
#include "base/io.h"
#include "region/region-cgroup-private.h"
#include "region/region-proc.h"
#include "spawn/clone.h"
#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#define SCOPE_PROGRAM "lethe-scope"
#define SCOPE_MSEC 5000
#define ENTER_TRIES 20 /* of 5 ms, while the group has only processes about to move as well */

#define FIX_CONTROLLERS \
        "turn on memory and pids in cgroup.subtree_control of the groups above (systemd: Delegate=yes)"
#define FIX_SERVICE "Delegate=yes in the unit (systemd-run: -p Delegate=yes)"
#define FIX_SCOPE "start Lethe by itself: systemd-run --user --scope -p Delegate=yes lethe ... (root: without --user)"

static void home_none(Home *h, const char *fix, const char *fmt, ...) _printf_(3, 4);
static void home_none(Home *h, const char *fix, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(h->why, sizeof(h->why), fmt, ap);
        va_end(ap);
        h->way = HOME_NONE;
        h->fix = fix;
}

static bool home_ends(const char *name, size_t n, const char *suffix) {
        size_t m = strlen(suffix);

        return n > m && strncmp(name + n - m, suffix, m) == 0;
}

/* The length of path up to the last component with a suffix, or 0. *ret_name: start of the component. */
static size_t home_last(const char *path, size_t n, const char *const suffixes[], const char **ret_name) {
        for (size_t end = n; end > 0;) {
                size_t start = end;

                while (start > 0 && path[start - 1] != '/')
                        start--;
                for (size_t i = 0; suffixes[i]; i++)
                        if (home_ends(path + start, end - start, suffixes[i])) {
                                *ret_name = path + start;
                                return end;
                        }
                end = start > 0 ? start - 1 : 0;
        }
        return 0;
}

static const char *const home_units[] = {".scope", ".service", NULL};

static bool home_is_marked(const char *dir) {
        static const char *const marks[] = {"user.delegate", "trusted.delegate"};
        char value[4];

        for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
                if (getxattr(dir, marks[i], value, sizeof(value)) == 1 && *value == '1')
                        return true;
        return false;
}

/* A limit set for the group, lost when Lethe leaves the group. */
static const char *home_limit(const char *dir) {
        static const char *const files[] = {"memory.max", "memory.high", "cpu.max"};
        char text[64];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (group_read(dir, files[i], text, sizeof(text)) == 0 && *text && strncmp(text, "max", 3) != 0)
                        return files[i];
        return NULL;
}

/* PID 1 manages root's units, the user's manager the units below user@UID.service. Returns true for the latter. */
static bool home_manager(Home *h, uid_t uid, const char *unit) {
        static const char *const kinds[] = {".slice", ".service", NULL};
        const size_t n = (size_t)(unit - h->dir);
        const char *name = NULL;
        char own[64];
        bool below_own;
        size_t end;

        snprintf(own, sizeof(own), "/user@%u.service/", (unsigned)uid);
        below_own = strstr(h->dir, own) != NULL;
        h->manager = uid == 0 && !below_own ? "system" : "user";
        if (!below_own && (uid != 0 || strstr(h->dir, "/user@")))
                return false;
        end = home_last(h->dir, n > 0 ? n - 1 : 0, kinds, &name);
        if (end > 0 && home_ends(name, (size_t)(h->dir + end - name), ".slice"))
                snprintf(h->slice, sizeof(h->slice), "%.*s", (int)(h->dir + end - name), name);
        return below_own;
}

/* The group is not Lethe's. Only a scope can be left: systemd would stop a service. fix: for a group of no unit. */
static void home_elsewhere(Home *h, uid_t uid, const char *unit, size_t n_unit, const char *because, const char *fix) {
        const char *limit;

        if (n_unit == 0) {
                home_none(h, fix, "%s %.300s", because, h->dir);
                return;
        }
        home_manager(h, uid, unit);
        if (!home_ends(unit, n_unit, ".scope")) {
                home_none(h, FIX_SERVICE, "%s of the unit %.*s", because, (int)n_unit, unit);
                return;
        }
        limit = home_limit(h->dir);
        if (limit) {
                home_none(h, FIX_SCOPE " with the same limit", "%s of %.*s, and outside of the group its limit (%s) "
                          "would not hold", because, (int)n_unit, unit, limit);
                return;
        }
        h->way = HOME_SCOPE;
        h->fix = FIX_SCOPE;
        snprintf(h->why, sizeof(h->why), "%s of %.*s", because, (int)n_unit, unit);
        group_number(h->dir, "pids.max", &h->tasks_max);
}

/* True for a scope requested by Lethe, named by lethe-scope. */
static bool home_is_own_scope(const char *unit, size_t n) {
        return strncmp(unit, "lethe-", strlen("lethe-")) == 0 && home_ends(unit, n, ".scope");
}

void home_find(const char *root, const char *self, uid_t uid, int delegated, Home *ret) {
        _cleanup_free_ char *own = NULL;
        const char *unit = NULL;
        char path[PATH_MAX];
        size_t end, n_unit;
        int n;

        *ret = (Home){.way = HOME_READY, .tasks_max = UINT64_MAX};
        snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
        if (access(path, F_OK) < 0)
                return;
        own = group_of_self(self, "");
        n = own ? snprintf(ret->dir, sizeof(ret->dir), "%s%s", root, strcmp(own, "/") == 0 ? "" : own) : 0;
        if (n == 0 || n >= (int)sizeof(ret->dir) || access(ret->dir, F_OK) < 0) {
                home_none(ret, "mount the hierarchy of this process", "the process's group is not below %s", root);
                return;
        }
        snprintf(path, sizeof(path), "%.*s/cgroup.type", (int)(sizeof(path) - sizeof("/cgroup.type")), ret->dir);
        if (group_is_leaf(ret->dir) || access(path, F_OK) < 0) /* the root of the hierarchy */
                return;
        end = home_last(ret->dir, strlen(ret->dir), home_units, &unit);
        n_unit = end > 0 ? (size_t)(ret->dir + end - unit) : 0;
        if (end > 0) {
                snprintf(path, sizeof(path), "%.*s", (int)end, ret->dir);
                const bool users = home_manager(ret, uid, unit);

                if (users && home_is_own_scope(unit, n_unit))
                        delegated = 1;
                if (users && delegated < 0) {
                        ret->way = HOME_ASK;
                        return;
                }
                if (users ? delegated == 0 : !home_is_marked(path)) {
                        home_elsewhere(ret, uid, unit, n_unit, "systemd has not delegated the control group", "");
                        return;
                }
        }
        if (access(ret->dir, W_OK) < 0) {
                home_elsewhere(ret, uid, unit, n_unit, "this user may not divide the control group",
                               "delegate a control group to this user");
                return;
        }
        if (!group_has_controllers(ret->dir)) {
                home_none(ret, FIX_CONTROLLERS, "the controllers memory and pids do not reach the control group %.300s",
                          ret->dir);
                return;
        }
        ret->way = HOME_LEAF;
}

static void home_is_shared(Home *h) {
        const char *unit = NULL;
        const size_t end = home_last(h->dir, strlen(h->dir), home_units, &unit);
        const size_t n_unit = end > 0 ? (size_t)(h->dir + end - unit) : 0;

        home_elsewhere(h, geteuid(), unit, n_unit, "other processes are in the control group",
                       "start Lethe in a control group of its own");
        if (h->way == HOME_NONE && home_ends(unit, n_unit, ".service"))
                h->fix = "let the service start Lethe as its only process, without a shell around it";
}

/* The kernel's name of the program: the file itself may be on a served file system. */
static bool home_program(pid_t pid, char ret[static PATH_MAX]) {
        return proc_link(PROC_PATH("%d/exe", pid), ret, PATH_MAX) > 0;
}

typedef struct HomeMove {
        const char *leaf;
        char own[PATH_MAX]; /* the program of this process */
        int moved;
} HomeMove;

static int home_move_one(pid_t pid, void *arg) {
        HomeMove *m = arg;
        char other[PATH_MAX];

        m->moved += home_program(pid, other) && strcmp(m->own, other) == 0 &&
                    group_write(m->leaf, "cgroup.procs", "%d", (int)pid) == 0;
        return 0;
}

/* Returns the number of moved processes of the same program, or -errno. */
static int home_move(const Home *h, const char *leaf) {
        HomeMove m = {.leaf = leaf};
        int e;

        if (!home_program(getpid(), m.own))
                return -ESRCH;
        e = group_write(leaf, "cgroup.procs", "%d", (int)getpid());
        e = e ?: group_each_listed(h->dir, home_move_one, &m);
        return e < 0 ? e : m.moved;
}

static int home_move_one_back(pid_t pid, void *arg) {
        const Home *h = arg;

        group_write(h->dir, "cgroup.procs", "%d", (int)pid);
        return 0;
}

int home_enter(const Home *h, const char *controllers) {
        const struct timespec pause = {0, 5000000};
        char leaf[PATH_MAX + sizeof(CGROUP_LEAF) + 1];
        int e = 0;

        snprintf(leaf, sizeof(leaf), "%s/" CGROUP_LEAF, h->dir);
        if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
                return -errno;
        for (unsigned i = 0; i < ENTER_TRIES; i++) {
                int moved = home_move(h, leaf);

                if (moved < 0) {
                        e = moved;
                        break;
                }
                e = group_write(h->dir, "cgroup.subtree_control", "%s", controllers);
                if (e != -EBUSY || (moved == 0 && i > 0))
                        break;
                nanosleep(&pause, NULL);
        }
        if (e < 0) {
                /* in an undivided group, the leaf has only processes moved by Lethe */
                group_each_listed(leaf, home_move_one_back, (void *)h);
                rmdir(leaf);
        }
        return e;
}

/* Asks systemd: "scope" for a scope (systemd.scope(5)) around this process, "delegated" for the unit's delegation. A
 * separate program asks, and may be killed at any time. Returns its exit code (0: yes) or -errno, and the output. */
static int home_ask(const Home *h, const char *what, char *said, size_t room) {
        _cleanup_close_ int program = find_program(SCOPE_PROGRAM, NULL), pidfd = -1, null = -1, from = -1, to = -1;
        char arg[512];
        int p[2], fds[3], n_said = 0;
        uint64_t until = clock_mono_usec() + SCOPE_MSEC * 1000;
        bool answered = false;
        siginfo_t si = {};
        CloneExec c;
        pid_t pid;

        *said = 0;
        if (program < 0)
                return program;
        if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        from = p[0];
        to = p[1];
        if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
                return -errno;
        snprintf(arg, sizeof(arg), "%s %d %d %" PRIu64 " %s %s", what, (int)getpid(), (int)getppid(), h->tasks_max,
                 h->manager, h->slice);
        fds[0] = fds[1] = null;
        fds[2] = to;
        c = (CloneExec){.name = SCOPE_PROGRAM, .arg = arg, .exec_fd = program, .fds = fds, .n_fds = 3};
        pid = clone_exec(&c, 0, &pidfd);
        if (pid < 0)
                return (int)pid;
        while (!answered && clock_mono_usec() < until) {
                struct pollfd f = {.fd = pidfd, .events = POLLIN};

                answered = poll(&f, 1, (int)((until - MIN(clock_mono_usec(), until)) / 1000) + 1) > 0;
        }
        if (!answered)
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        while (waitid(P_PID, (id_t)pid, &si, WEXITED) < 0 && errno == EINTR)
                ;
        child_registry_forget(pid);
        n_said = (int)read(from, said, room - 1);
        said[MAX(n_said, 0)] = 0;
        said[strcspn(said, "\n")] = 0;
        if (!answered) {
                snprintf(said, room, "systemd did not answer within %d s", SCOPE_MSEC / 1000);
                return -ETIMEDOUT;
        }
        return si.si_code == CLD_EXITED ? si.si_status : -EREMOTEIO;
}

static Home home;

static bool home_look(int delegated) {
        _cleanup_free_ char *self = NULL;
        size_t n;

        if (io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &self, &n) < 0) {
                home_none(&home, "mount /proc", "/proc/self/cgroup cannot be read");
                return false;
        }
        home_find(CGROUP_ROOT, self, geteuid(), delegated, &home);
        return true;
}

static void home_take_leaf(void) {
        int e = home_enter(&home, HOME_CONTROLLERS);

        if (e == 0)
                home.way = HOME_READY;
        else if (e == -EBUSY)
                home_is_shared(&home);
        else
                home_none(&home, FIX_SERVICE, "the control group %.300s cannot be divided: %s", home.dir, strerror(-e));
}

static void home_once(void) {
        char said[256];
        int e;

        if (!home_look(-1))
                return;
        if (home.way == HOME_ASK)
                home_look(home_ask(&home, "delegated", said, sizeof(said)) == 0);
        if (home.way == HOME_LEAF)
                home_take_leaf();
        if (home.way != HOME_SCOPE)
                return;
        e = home_ask(&home, "scope", said, sizeof(said));
        if (e != 0) {
                size_t n = strlen(home.why);

                home.way = HOME_NONE;
                snprintf(home.why + n, sizeof(home.why) - n, ", and systemd gave no scope: %s",
                         *said ? said : strerror(e < 0 ? -e : EREMOTEIO));
                return;
        }
        if (!home_look(-1))
                return;
        if (home.way == HOME_LEAF)
                home_take_leaf();
        if (home.way == HOME_SCOPE) /* never twice */
                home.way = HOME_NONE;
}

const char *home_settle(const char **ret_fix) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, home_once);
        if (ret_fix)
                *ret_fix = home.fix ?: "";
        return home.way == HOME_READY ? NULL : home.why;
}

void home_unit(HomeUnit *ret) {
        _cleanup_free_ char *self = NULL, *own = NULL;
        char dir[PATH_MAX], text[1024];
        const char *unit = NULL;
        size_t n, end;

        *ret = (HomeUnit){.limit = UINT64_MAX};
        if (io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &self, &n) < 0 || !(own = group_of_self(self, "")))
                return;
        if (snprintf(dir, sizeof(dir), CGROUP_ROOT "%s", own) >= (int)sizeof(dir) ||
            (end = home_last(dir, strlen(dir), home_units, &unit)) == 0)
                return;
        dir[end] = 0;
        snprintf(ret->name, sizeof(ret->name), "%s", unit);
        if (group_read(dir, "memory.events", text, sizeof(text)) == 0)
                ret->oom_kills = group_keyed(text, "oom_kill");
        group_number(dir, "memory.max", &ret->limit);
}
