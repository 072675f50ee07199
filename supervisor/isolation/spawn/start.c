#include "spawn/spawn.h"

#include "base/io.h"
#include "base/proc.h"
#include "schema/limits.h"
#include "spawn/clone.h"
#include "spawn/find.h"
#include "spawn/cache.h"
#include "base/child-registry.h"
#include "spawn/plan.h"
#include "spawn/private.h"
#include "base/path-lookup.h"
#include "spawn/spawner-private.h"
#include "spawn/spawner.h"
#include "spawn/uids.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#define PIPEFS_TYPE 0x50495045

/* The ways of a start, the quickest first; the last way always remains. */
typedef enum Way { WAY_TEMPLATE, WAY_ZYGOTE, WAY_EXEC } Way;
#define E_NEXT_WAY 100 /* this way is closed: no process was started */

/* The resources of a start before the Spawned. */
typedef struct Start {
        const SpawnRequest *r; /* request, with probe */
        SpawnRequest request;
        Probe probe;
        Way way;
        Zygote *template; /* taken from the Spawner, or NULL */
        Plan plan;
        struct sock_filter *filter;
        size_t n_filter;
        char *shims, *scratch;
        Lent lent;
        int worker, spec, status[2], lifeline[2];
        int fds[CLONE_EXEC_FDS_MAX];
        size_t n_fds;
        Spawned s;
} Start;

static void start_deinit(Start *t) {
        for (size_t i = LAUNCH_FD_TREES; i < t->n_fds; i++)
                closep(&t->fds[i]);
        plan_deinit(&t->plan);
        free(t->filter);
        free(t->shims);
        lent_deinit(&t->lent);
        if (t->scratch)
                spawn_scratch_remove(t->scratch);
        free(t->scratch);
        closep(&t->worker);
        closep(&t->spec);
        closep(&t->status[0]);
        closep(&t->status[1]);
        closep(&t->lifeline[0]);
        closep(&t->lifeline[1]);
        if (t->s.pidfd >= 0) {
                syscall(SYS_pidfd_send_signal, t->s.pidfd, SIGKILL, NULL, 0);
                child_registry_reap(t->s.pid);
        }
        spawned_deinit(&t->s);
        if (t->template)
                spawner_give_back(t->r->spawner, t->template);
}

/* The operator's paths first: the path of a missing source is a better message than the step that missed the source. */
static int start_check_sources(Start *t, Diag *reterr) {
        const Grant *g = t->r->grant;
        struct stat st;
        int e;

        if (g->skill_dir && g->skill_folder && strcmp(g->skill_dir, g->skill_folder) == 0)
                return diag(reterr, SPAWN_E_SOURCE, "the skill \"%s\" has no copy in the store: the hash could differ "
                            "from the running files", g->skill_dir);
        if (g->program && !g->program_copy)
                return diag(reterr, SPAWN_E_SOURCE, "the program \"%s\" has no copy in the store: the hash could "
                            "differ from the running files", g->program);
        if (g->skill_dir && (e = lookup_stat(g->skill_dir, false, &st)) < 0)
                return diag(reterr, SPAWN_E_SOURCE, "the skill's copy \"%s\": %s", g->skill_dir, strerror(-e));
        if (g->program && (e = lookup_stat(g->program_copy, false, &st)) < 0)
                return diag(reterr, SPAWN_E_SOURCE, "program \"%s\" with copy \"%s\": %s", g->program, g->program_copy,
                            strerror(-e));
        for (size_t i = 0; i < g->n_files; i++)
                if (!g->files[i].mask && (e = lookup_stat(g->files[i].source, false, &st)) < 0)
                        return diag(reterr, SPAWN_E_SOURCE, "file \"%s\": %s", g->files[i].source, strerror(-e));
        return 0;
}

static int start_open_channels(Start *t) {
        if (spawn_fails())
                return -EIO;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, t->status) < 0 ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, t->lifeline) < 0)
                return -errno;
        if (spawn_fails())
                return -EIO;
        return io_set_nonblock(t->status[0]);
}

static void start_list_fds(Start *t) {
        const SpawnIo *io = &t->r->io;
        const int fixed[LAUNCH_FD_TREES] = {io->std_in, io->std_out, io->std_err, io->pipe_in, io->pipe_out,
                                            t->status[1], t->lifeline[0], t->spec};
        uint32_t id = probe_region_id(t->r->probe);

        memcpy(t->fds, fixed, sizeof(fixed));
        if (!(t->r->grant->proc || t->s.tier == TIER_LANDLOCK) || !t->r->probe->root || !t->r->probe->has_nobody)
                return;
        /* With /proc, and in tier landlock, a program may open /dev/stdin by name, if its user owns the pipe. A FIFO has
         * an owner. */
        for (size_t i = 0; i <= REGION_PIPE_OUT_FD; i++) {
                struct statfs st;

                if (fstatfs(t->fds[i], &st) == 0 && st.f_type == PIPEFS_TYPE && fchown(t->fds[i], id, id) < 0)
                        continue; /* then the pipe cannot be opened by name, no more */
        }
}

static int start_explain_clone(Start *t, const CloneExec *c, int error, Diag *reterr) {
        const char *fix = "";

        if (strcmp(c->what, "clone3") == 0 && t->s.tier == TIER_NAMESPACES) {
                if (error == ENOSPC || error == EUSERS)
                        fix = "; a limit in /proc/sys/user/max_*_namespaces is reached or 0; fix: raise it";
                else if (error == EPERM)
                        fix = "; user namespaces are forbidden here (in a container: run it with a seccomp profile "
                              "that allows unshare, or "
                              "give --tier landlock where the policy allows it)";
                else if (error == EINVAL)
                        fix = "; this kernel lacks a namespace or clone3";
                return diag(reterr, SPAWN_E_TIER, "tier namespaces cannot be had: %s: %s%s", c->what, strerror(error),
                            fix);
        }
        return diag(reterr, SPAWN_E_KERNEL, "%s: %s", c->what, strerror(error));
}

/* Sockets are made in the region's own network namespace, and connected in the host's. */
static bool start_needs_host_network(const Grant *g) {
        return g->network == NETWORK_CONNECT || g->network == NETWORK_HOST;
}

/* A dead zygote differs from a refusing kernel; after a template's refusal the host's zygote may still succeed. */
static int start_from_zygote(Start *t, uint64_t flags, CloneExec *c) {
        int e = t->template ? zygote_child(t->template, flags, t->fds, t->n_fds, &t->s.pid, &t->s.pidfd)
                            : spawner_worker(t->r->spawner, flags | ZYGOTE_OWNER(flags ? t->r->probe->region_id : 0),
                                             t->fds, t->n_fds, &t->s.pid, &t->s.pidfd);

        c->what = "clone3";
        if (t->template && e != 0)
                spawner_doom(t->r->spawner, t->template);
        return e == ZYGOTE_E_GONE || e == -E2BIG || (t->template && e < 0) ? E_NEXT_WAY : e;
}

static int start_make_process(Start *t, Diag *reterr) {
        CloneExec c = {.name = "lethe-worker", .owner = t->s.tier == TIER_NAMESPACES ? t->r->probe->region_id : 0,
                       .exec_fd = t->worker, .fds = t->fds, .n_fds = t->n_fds,
                       .keep_caps = t->s.tier == TIER_NAMESPACES,
                       .keep_net = t->r->grant->network == NETWORK_LOOPBACK, .what = "clone3"};
        uint64_t flags = 0;
        int e;

        if (t->s.tier == TIER_NAMESPACES)
                flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                        (grant_has_net_namespace(t->r->grant) ? CLONE_NEWNET : 0);
        if (spawn_fails())
                e = -EIO;
        else if (t->way != WAY_EXEC)
                e = start_from_zygote(t, flags, &c);
        else
                e = t->s.pid = clone_exec(&c, flags, &t->s.pidfd);
        if (e == E_NEXT_WAY)
                return e;
        return e < 0 ? start_explain_clone(t, &c, -e, reterr) : 0;
}

/* /proc has the numbers of its own PID namespace. "": of this namespace; else the defect and the fix. */
static const char *start_proc_fix(void) {
        char self[24] = "", own[24];

        snprintf(own, sizeof(own), "%d", (int)getpid());
        if (readlink("/proc/self", self, sizeof(self) - 1) < 0)
                return "; /proc is not mounted here; fix: mount -t proc proc /proc";
        return strcmp(self, own) == 0 ? ""
                                      : "; /proc is that of another PID namespace; fix: mount -t proc proc /proc "
                                        "(unshare --mount-proc)";
}

/* Before the worker's first step that needs an id. Below a template the worker writes its own maps. */
static int start_admit(Start *t, Diag *reterr) {
        bool own_maps = t->plan.spec.flags & LAUNCH_TEMPLATE;
        int e;

        if (t->s.tier == TIER_NAMESPACES && !own_maps) {
                e = spawn_fails() ? -EIO : spawn_write_maps(t->s.pid, t->r->probe);
                if (e < 0)
                        return diag(reterr, SPAWN_E_TIER, "tier namespaces cannot be had: the user map cannot be "
                                    "written: %s%s", strerror(-e), start_proc_fix());
        }
        t->s.start_ticks = proc_start_ticks(t->s.pid);
        e = spawn_fails() || t->s.start_ticks == 0 ? -EIO : 0;
        if (e < 0 || own_maps)
                return e;
        return send(t->lifeline[1], "m", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* The program is executed, not run in a child of a warm interpreter. */
static void start_be_executed(Start *t) {
        t->plan.interpreter = NULL;
        plan_not_ahead(&t->plan);
}

/* Takes the view's template, or makes a template when the Spawner wants one: the region then mounts only its grants. */
static bool start_take_template(Start *t) {
        const ViewOwner owner = {t->r->grant->client, start_needs_host_network(t->r->grant), t->r->grant->skill_dir};
        uint8_t view[VIEW_BYTES], again[VIEW_BYTES];
        Zygote made;
        bool wanted;
        Diag d = {};
        int e;

        if (t->plan.interpreter && owner.net_host)
                start_be_executed(t);
        if (!view_of(&t->plan, t->r->probe, &owner, view))
                return false;
        t->template = spawner_take(t->r->spawner, view, &wanted);
        if (wanted) {
                e = template_make(t->r->spawner, &t->plan, t->r->probe, &t->r->grant->uids, &owner, &made, &d);
                /* A path may have changed its file during the bind. */
                if (e == 0 &&
                    (!view_of(&t->plan, t->r->probe, &owner, again) || memcmp(view, again, sizeof(view)) != 0)) {
                        zygote_end(&made);
                        e = -ESTALE;
                }
                spawner_made(t->r->spawner, view, e == 0 ? &made : NULL);
                t->template = e == 0 ? spawner_take(t->r->spawner, view, &wanted) : NULL;
        }
        /* An interpreter with a failed import or a thread is executed, in the same view. */
        if (!t->template && !wanted && t->plan.interpreter) {
                start_be_executed(t);
                return start_take_template(t);
        }
        if (t->template && plan_use_view(&t->plan) < 0) {
                spawner_give_back(t->r->spawner, TAKE_PTR(t->template));
                return false;
        }
        if (t->template)
                t->probe.region_id = t->template->uid;
        t->s.warm = t->template && t->plan.interpreter;
        return t->template;
}

/* As a program of the region would count. */
static unsigned start_cpus(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static int start_run(Start *t, Diag *reterr) {
        const SpawnRequest *r = t->r;
        PlanInput in;
        int e = start_check_sources(t, reterr);

        if (e == 0 && t->s.tier == TIER_LANDLOCK) {
                e = spawn_scratch_make(r, &t->scratch, reterr);
                if (e == 0 && r->probe->root)
                        e = lend(r->grant, t->scratch, probe_region_id(r->probe), &t->lent, reterr);
                /* Orphans of a killed worker become the supervisor's children, and spawn_prove_empty() finds them. */
                if (e == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                        e = -errno;
        }
        if (e != 0)
                return e;
        e = t->way == WAY_EXEC ? find_needed("lethe-worker", SPAWN_E_WORKER, &t->worker, reterr) : 0;
        if (e == 0 && spawn_fails())
                e = diag(reterr, SPAWN_E_WORKER, "injected");
        if (e != 0)
                return e;
        filter_input(r->grant, t->s.tier, r->memory_in_cgroup, r->tasks_in_cgroup, r->probe->objects,
                     r->probe->landlock_abi >= 6, &t->s.filter);
        e = spawn_fails() ? -EIO
                          : spawn_cache_filter(spawner_kept(r->spawner), &t->s.filter, r->store_dir, &t->filter,
                                               &t->n_filter);
        if (e < 0)
                return e;
        t->shims = spawn_cache_shims(spawner_kept(r->spawner));
        in = (PlanInput){.grant = r->grant, .probe = r->probe, .tier = t->s.tier, .region = r->region,
                         .shim_dir = t->shims, .scratch = t->scratch, .skill_dir = t->lent.skill,
                         .program = t->lent.program, .memory_in_cgroup = r->memory_in_cgroup,
                         .tasks_in_cgroup = r->tasks_in_cgroup, .watches = t->s.filter.watches,
                         .cpus = r->grant->proc ? start_cpus() : 0,
                         .trees = r->probe->root, .tell = r->tell, .later = r->later, .filter = t->filter, .n_filter = t->n_filter};
        e = spawn_fails() ? -EIO : plan_make(&in, &t->plan);
        if (e == 0 && r->later) /* before any bind */
                e = view_mark(&t->plan, &t->s.view);
        if (e == 0 && t->way == WAY_TEMPLATE && !start_take_template(t))
                t->way = WAY_ZYGOTE;
        if (e == 0 && t->plan.interpreter && !t->s.warm) /* only a warm interpreter has its bootstrap */
                plan_not_ahead(&t->plan);
        t->s.ahead = e == 0 && t->plan.spec.flags & LAUNCH_AHEAD;
        if (e == 0)
                e = spawn_open_trees(&t->plan, r->probe, t->template ? r->spawner : NULL, t->fds, &t->n_fds, reterr);
        if (e != 0 && t->template && !r->probe->root) /* the way without a binder explains the error */
                return E_NEXT_WAY;
        if (e == 0) {
                t->spec = spawn_fails() ? -EIO : spawn_seal(&t->plan.spec, &t->s.spec, &t->s.n_spec);
                e = MIN(t->spec, 0);
                if (e == -EFBIG)
                        return diag(reterr, e,
                                    "%zu arguments and %zu variables are too many: at most %u of each, %u MiB in all",
                                    t->plan.spec.n_argv, t->plan.spec.n_env, LAUNCH_COUNT_MAX, LAUNCH_MAX >> 20);
        }
        e = e ?: start_open_channels(t);
        if (e != 0)
                return e;
        start_list_fds(t);
        e = start_make_process(t, reterr);
        return e != 0 ? e : start_admit(t, reterr);
}

/* As in spawn_write_maps(); in tier landlock the worker takes the id itself. */
static void start_name_user(Start *t) {
        const Probe *p = t->r->probe;

        t->s.host_uid = p->root && p->has_nobody ? probe_region_id(p) : p->uid;
        t->s.host_user = !p->root || !p->has_nobody ? "lethe"
                         : !p->region_id ? "nobody" : t->template ? "template" : "region";
}

static int start_one_way(Way way, const SpawnRequest *r, Spawned *ret, Diag *reterr) {
        Start t = {.request = *r, .probe = *r->probe, .way = way, .worker = -1, .spec = -1, .status = {-1, -1},
                   .lifeline = {-1, -1}, .s = SPAWNED_NULL, .n_fds = LAUNCH_FD_TREES};
        int e;

        t.request.probe = &t.probe;
        t.r = &t.request;
        for (size_t i = 0; i < ARRAY_SIZE(t.fds); i++)
                t.fds[i] = -1;
        e = plan_tier(r->grant, r->probe, &t.s.tier, reterr);
        t.s.awaits_terminal = r->grant->terminal;
        e = e ?: start_run(&t, reterr);
        /* Only a try shows this: the namespaces were refused, and the grant allows tier landlock. */
        if (e == SPAWN_E_TIER && t.s.tier == TIER_NAMESPACES && r->grant->tier == 0 &&
            r->grant->min_tier == TIER_LANDLOCK) {
                Probe p = *r->probe;
                SpawnRequest again = *r;

                start_deinit(&t);
                p.userns_denied = USERNS_DENIED_COUNT;
                again.probe = &p;
                return spawn_start(&again, ret, reterr);
        }
        if (e == E_NEXT_WAY) {
                start_deinit(&t);
                return start_one_way(t.way + 1, r, ret, reterr);
        }
        if (e == 0) {
                t.s.status = TAKE_FD(t.status[0]);
                t.s.lifeline = TAKE_FD(t.lifeline[1]);
                t.s.scratch = TAKE_PTR(t.scratch);
                t.s.memory = TAKE_FD(t.spec);
                start_name_user(&t);
                t.s.spawner = r->spawner;
                t.s.template = TAKE_PTR(t.template);
                *ret = t.s;
                t.s = SPAWNED_NULL;
        }
        start_deinit(&t);
        return e;
}

int spawn_words(Spawned *s, const Grant *g, const char *region) {
        const PlanInput in = {.grant = g, .tier = s->tier, .region = region};
        _cleanup_(plan_deinit) Plan p = {0};
        uint8_t *bytes;
        size_t n;
        int e = plan_words(&in, &p);

        assert(s->tier == TIER_NAMESPACES); /* tier without paths of the host */
        e = e ?: launch_words_encode(&p.spec, &bytes, &n);
        if (e < 0)
                return e;
        s->n_words = n;
        s->told = true;
        if (pwrite(s->memory, bytes, n, (off_t)s->n_spec) != (ssize_t)n)
                e = -EIO;
        sodium_memzero(bytes, n);
        free(bytes);
        return e;
}

int spawn_start(const SpawnRequest *r, Spawned *ret, Diag *reterr) {
        const Way way = r->spawner ? WAY_TEMPLATE : WAY_EXEC;
        SpawnRequest own = *r;
        Probe p = *r->probe;
        int e;

        if (!p.root || p.region_id)
                return start_one_way(way, r, ret, reterr);
        e = uids_take(&r->grant->uids, &p.region_id, reterr);
        if (e != 0)
                return e == UIDS_E_REFUSED ? SPAWN_E_KERNEL : e;
        p.has_nobody |= p.region_id != 0;
        own.probe = &p;
        e = start_one_way(way, &own, ret, reterr);
        if (e == 0)
                ret->uid = p.region_id;
        else
                uids_give(p.region_id);
        return e;
}
