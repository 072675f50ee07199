#include "spawn/probe-full.h"

#include "base/child-registry.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "spawn/find.h"
#include "spawn/spawn.h"
#include "spawn/bind-mount.h"
#include "spawn/uids.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

void probe_add(ProbeReport *r, const char *name, ProbeLevel level, const char *meaning, const char *fix,
               const char *fmt, ...) {
        ProbeFinding *f = &r->rows[r->n];
        va_list ap;

        assert(r->n < PROBE_FINDINGS_MAX);
        r->n++;
        *f = (ProbeFinding){.name = name, .level = level, .meaning = meaning, .fix = fix};
        va_start(ap, fmt);
        vsnprintf(f->value, sizeof(f->value), fmt, ap);
        va_end(ap);
}

/* First line of a small file, or "" when unreadable. */
static const char *probe_line(const char *path, char *out, size_t n_out) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        out[0] = 0;
        if (io_read_file(AT_FDCWD, path, 1 << 20, &text, &n) < 0)
                return out;
        text[strcspn(text, "\n")] = 0;
        snprintf(out, n_out, "%s", text);
        return out;
}

/* errno of unshare(flags) in a child. */
static int probe_try_unshare(int flags) {
        pid_t pid = fork();
        int status;

        if (pid < 0)
                return errno;
        if (pid == 0)
                _exit(unshare(flags) < 0 ? errno & 127 : 0);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static void probe_namespaces(ProbeReport *r, const Probe *p) {
        static const struct {
                const char *name, *what;
                int flag;
        } rows[] = {
                {"namespace-user", "a region has its own users, none of them root", 0},
                {"namespace-pid", "a region's processes see and end only each other", CLONE_NEWPID},
                {"namespace-mount", "a region has its own root file system", CLONE_NEWNS},
                {"namespace-net", "a region has no network", CLONE_NEWNET},
                {"namespace-ipc", "a region has its own shared memory names", CLONE_NEWIPC},
                {"namespace-uts", "a region does not see the host's name", CLONE_NEWUTS},
                {"namespace-cgroup", "a region does not see the host's cgroups", CLONE_NEWCGROUP},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                int e = probe_try_unshare(CLONE_NEWUSER | rows[i].flag);
                const char *fix = *probe_userns_reason(p->userns_denied) ? probe_userns_reason(p->userns_denied)
                                  : e == ENOSPC ? "raise the limits in /proc/sys/user/"
                                  : e == EINVAL ? "a kernel with this namespace"
                                                : "in a container: a seccomp profile that allows unshare and mount";

                probe_add(r, rows[i].name, e ? PROBE_FAIL : PROBE_OK, rows[i].what, e ? fix : "", "%s",
                          e ? strerror(e) : "works");
        }
        if (p->userns_denied)
                probe_add(r, "user-namespaces", PROBE_FAIL, "this user may not make user namespaces",
                          probe_userns_reason(p->userns_denied), "forbidden by a setting");
}

/* The policy may name a range of its own. */
static void probe_region_uids(ProbeReport *r) {
        const UidRange standard = {0};
        uint32_t uid;
        Diag d = {0};
        int e = uids_take(&standard, &uid, &d);

        if (e == 0)
                uids_give(uid);
        if (e == 0 && uid != 0)
                probe_add(r, "region-uids", PROBE_OK, "each region is a user of its own on the host", "", "from %u",
                          UIDS_STANDARD_FIRST);
        else
                probe_add(r, "region-uids", PROBE_WARN, "regions are one user of the host, for which inotify, signals, "
                          "timers, pipes and descriptors on their way are counted together; records say so",
                          "a range that is mapped here and nobody's, as \"region_uids\" of the policy", "%s",
                          *d.text ? d.text : "the standard range is not mapped in this user namespace");
}

static void probe_kernel(ProbeReport *r, const Probe *p) {
        uint32_t notify = SECCOMP_RET_USER_NOTIF;
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        struct utsname u;

        uname(&u);
        probe_add(r, "kernel", PROBE_OK, "", "", "%s", u.release);
        if (p->landlock_abi == 0)
                probe_add(r, "landlock", PROBE_FAIL, "the second lock on files is missing",
                          "boot with lsm=landlock,… or a kernel with CONFIG_SECURITY_LANDLOCK", "not there");
        else
                probe_add(r, "landlock", p->landlock_abi >= 6 ? PROBE_OK : PROBE_NOTE,
                          p->landlock_abi >= 6   ? "files, TCP, devices, signals and abstract sockets"
                          : p->landlock_abi >= 4 ? "files and TCP; tier landlock needs ABI 6 (signals)"
                                                 : "files only; tier landlock needs ABI 6 (signals)",
                          p->landlock_abi >= 6 ? "" : "Linux 6.12 or later", "ABI %d", p->landlock_abi);
        if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) < 0)
                probe_add(r, "seccomp-notify", PROBE_FAIL, "denied calls cannot be told",
                          "Linux 5.0 or later with CONFIG_SECCOMP_FILTER", "%s", strerror(errno));
        else
                probe_add(r, "seccomp-notify", PROBE_OK, "each denied call is told by name", "", "works");
        probe_add(r, "pidfd", pidfd < 0 ? PROBE_FAIL : PROBE_OK, "a region is ended without mistaking its process for "
                  "another", pidfd < 0 ? "Linux 5.3 or later" : "", "%s", pidfd < 0 ? strerror(errno) : "works");
        if (p->root) {
                Diag d = {0};
                _cleanup_close_ int tree = bind_mount_open("/usr", false, 0, NULL, &d);

                probe_add(r, "mount-api", tree < 0 ? PROBE_FAIL : PROBE_OK,
                          "the skill's folder is bound whoever owns it",
                          tree < 0 ? "Linux 5.12 or later, and CAP_SYS_ADMIN" : "", "%s", tree < 0 ? d.text : "works");
                probe_region_uids(r);
                probe_add(r, "user-65534", p->has_nobody ? PROBE_OK : PROBE_WARN,
                          "a region's user on the host, where the policy's region_uids are not mapped",
                          p->has_nobody ? "" : "a user namespace in which 65534 is mapped", "%s",
                          p->has_nobody ? "there" : "not mapped here: a region runs as the user of lethe");
        }
}

static void probe_settings(ProbeReport *r) {
        RulesetFacts facts;
        char v[256];

        probe_line("/proc/sys/kernel/core_pattern", v, sizeof(v));
        probe_add(r, "core-pattern", PROBE_OK, "a region's limit of core files (1 byte) keeps either kind from being "
                  "made", "", "%s", *v ? v : "none");
        kernel_facts(&facts);
        probe_add(r, "swap", facts.swap ? PROBE_WARN : PROBE_OK,
                  facts.swap ? "a region's memory may be written to a disk" : "",
                  facts.swap ? "swapoff -a, or swap on an encrypted device" : "", "%s", facts.swap ? "on" : "off");
        probe_add(r, "init-on-free", facts.init_on_free ? PROBE_OK : PROBE_NOTE,
                  facts.init_on_free ? "the kernel clears what a region frees"
                         : "freed kernel memory (pipes, names, stacks) keeps its bytes until it is used "
                           "again; records say so",
                  facts.init_on_free ? "" : "boot with init_on_free=1", "%s", facts.init_on_free ? "on" : "off");
        probe_line("/proc/sys/kernel/yama/ptrace_scope", v, sizeof(v));
        if (*v == '3') /* with 2 the guard still may: the guard has CAP_SYS_PTRACE over the region's user namespace */
                probe_add(r, "yama", PROBE_FAIL,
                          "the guard, which overwrites a region's memory at its end, may not trace the region",
                          "kernel.yama.ptrace_scope = 2 or less (3 stays until a restart)", "%s", v);
        else
                probe_add(r, "yama", PROBE_OK, "a region cannot trace, whatever the value: the call is denied", "",
                          "%s", *v ? v : "not there");
        probe_line("/proc/sys/user/max_user_namespaces", v, sizeof(v));
        probe_add(r, "max-user-namespaces", PROBE_OK, "each region uses one", "", "%s", *v ? v : "unknown");
        probe_line("/proc/sys/kernel/unprivileged_userns_clone", v, sizeof(v));
        if (*v)
                probe_add(r, "unprivileged-userns-clone", PROBE_OK, "1: ordinary users may make user namespaces", "",
                          "%s", v);
        probe_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", v, sizeof(v));
        if (*v)
                probe_add(r, "apparmor-userns", strcmp(v, "1") == 0 ? PROBE_NOTE : PROBE_OK,
                          "1: an ordinary user needs a profile for lethe with the rule \"userns,\"", "", "%s", v);
}

void probe_full(ProbeReport *r) {
        _cleanup_free_ char *path = NULL, *shims = find_shims();
        _cleanup_free_ char *guard_path = NULL;
        _cleanup_close_ int worker = find_program("lethe-worker", &path),
                            guard = find_program("lethe-guard", &guard_path);
        Probe p;

        probe_quick(&p);
        probe_kernel(r, &p);
        probe_namespaces(r, &p);
        probe_settings(r);
        probe_add(r, "worker", worker < 0 ? PROBE_FAIL : PROBE_OK, "the program that confines itself and starts the "
                  "skill", worker < 0 ? "install lethe-worker there" : "", "%s%s", path ?: "lethe-worker",
                  worker < 0 ? " (missing)" : "");
        probe_add(r, "guard", guard < 0 ? PROBE_FAIL : PROBE_OK, "the program that overwrites a region's memory at its "
                  "end; without it nothing runs", guard < 0 ? "install lethe-guard there" : "", "%s%s",
                  guard_path ?: "lethe-guard", guard < 0 ? " (missing)" : "");
        probe_add(r, "shims", shims ? PROBE_OK : PROBE_WARN, "what is bound at /lethe: lethe-slot, Python, Node",
                  shims ? "" : "install lethe's libexec folder whole", "%s", shims ?: "missing");
}

#define TRIAL_MS 10000

/* Waits for the program's end. Returns 0 or SPAWN_E_*. */
static int trial_follow(Spawned *s, Diag *reterr) {
        int r = diag(reterr, SPAWN_E_KERNEL, "the trial region did not answer for %d s", TRIAL_MS / 1000);
        _cleanup_close_ int notify = -1, scratch = -1;

        for (;;) {
                struct pollfd p = {.fd = s->status, .events = POLLIN};
                StatusRecord got;
                int n1, n2, e;

                if (poll(&p, 1, TRIAL_MS) <= 0)
                        return r;
                e = spawn_status(s, &got, &n1, &n2);
                if (e == -EAGAIN)
                        continue;
                if (e <= 0)
                        return r;
                if (got.kind == STATUS_BORN) {
                        scratch = n2;
                        if (spawn_groups(s, NULL, 0) < 0)
                                return r;
                } else if (got.kind == STATUS_READY) {
                        notify = n1;
                        if (spawn_go(s) < 0)
                                return r;
                } else if (got.kind == STATUS_STEP_FAILED)
                        return spawn_explain(s, &got, reterr);
                else if (got.kind == STATUS_EXEC_FAILED)
                        return diag(reterr, SPAWN_E_KERNEL, "/bin/true cannot be executed in a region: %s",
                                    strerror(got.b));
                else
                        return got.a == 0 ? 0
                                          : diag(reterr, SPAWN_E_KERNEL, "/bin/true ended with status 0x%x in a region",
                                                 (unsigned)got.a);
        }
}

static int trial_run(Tier tier, NetworkMode network, const char *store_dir, Diag *reterr) {
        char *argv[] = {(char *)"/bin/true", NULL};
        const Grant g = {.argv = argv, .tier = tier, .min_tier = tier, .network = network, .budget = {.memory_bytes = 64 << 20,
                                    .cpu_usec = 1000000,
                                    .processes = 8,
                                    .open_files = 32,
                                    .file_bytes = 1 << 20,
                                    .scratch_bytes = 1 << 20}};
        _cleanup_spawned_ Spawned s = SPAWNED_NULL;
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        char id[REGION_ID_MAX];
        Probe p;
        const SpawnRequest r = {.grant = &g, .probe = &p, .region = id, .store_dir = store_dir ?: "/nonexistent",
                                .memory_in_cgroup = true, .tasks_in_cgroup = true,
                                .io = {null, null, null, null, null}};
        int e;

        if (null < 0)
                return diag(reterr, SPAWN_E_KERNEL, "/dev/null: %s", strerror(errno));
        probe_quick(&p);
        e = region_id_new(clock_real_usec(), id);
        e = e ?: spawn_start(&r, &s, reterr);
        if (e != 0)
                return e;
        e = trial_follow(&s, reterr);
        spawn_kill(&s);
        spawn_kill(&s);
        child_registry_reap(s.pid);
        if (s.scratch)
                spawn_scratch_remove(s.scratch);
        return e;
}

static bool trial_report(ProbeReport *r, const char *name, Tier tier, ProbeLevel level, const char *store_dir) {
        uint64_t from = clock_mono_usec();
        Diag d = {0};
        int e = trial_run(tier, NETWORK_NONE, store_dir, &d);

        if (e == 0)
                probe_add(r, name, PROBE_OK, "a region was made, ran a program and ended", "", "works (%llu us)",
                          (unsigned long long)(clock_mono_usec() - from));
        else
                probe_add(r, name, level, "no region of this tier starts here", "see the marked rows above, or the "
                          "message itself", "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
        return e == 0;
}

static void trial_report_loopback(ProbeReport *r, bool namespaces, const char *store_dir) {
        Diag d = {0};
        int e = namespaces ? trial_run(TIER_NAMESPACES, NETWORK_LOOPBACK, store_dir, &d) : -EOPNOTSUPP;

        if (e == 0)
                probe_add(r, "network-loopback", PROBE_OK, "a region with a network of its own was made", "", "works");
        else
                probe_add(r, "network-loopback", PROBE_NOTE, "a run with network \"loopback\" is refused here",
                          namespaces ? "see the message" : "tier namespaces: tier landlock has no network namespace",
                          "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
}

void probe_trial(ProbeReport *r, const char *store_dir, bool *ret_namespaces, bool *ret_landlock) {
        char temporary[] = "/tmp/lethe-doctor-XXXXXX";
        bool made = !store_dir && mkdtemp(temporary);

        if (made)
                store_dir = temporary;
        *ret_namespaces = trial_report(r, "tier-namespaces", TIER_NAMESPACES, PROBE_FAIL, store_dir);
        *ret_landlock = trial_report(r, "tier-landlock", TIER_LANDLOCK, PROBE_NOTE, store_dir);
        trial_report_loopback(r, *ret_namespaces, store_dir);
        if (made)
                spawn_scratch_remove(temporary);
}
