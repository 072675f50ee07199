/* A template: a worker that builds the root that a view describes, is confined in it, and forks the regions that see it. It has a PID namespace of its own,
 * whose first process is the template's end: with it the kernel kills all that the template made. */
#include "base/proc.h"
#include "policy/filter.h"
#include "schema/limits.h"
#include "spawn/helper.h"
#include "base/child-registry.h"
#include "spawn/trusted.h"
#include "spawn/uids.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Ours alone, and what an interpreter of a skill has by default: with another one it is executed in the region. */
static const char *const template_env[] = {"PATH=" REGION_LETHE_DIR "/bin:" REGION_PATH, "LANG=C.UTF-8", "LD_PRELOAD=" REGION_LETHE_DIR "/warm/liblethe-warm.so"};

static const LaunchLimit template_limits[] = {
        {RLIMIT_DATA, TEMPLATE_DATA_BYTES, RLIM_INFINITY},
        {RLIMIT_AS, TEMPLATE_SPACE_BYTES, RLIM_INFINITY},
        {RLIMIT_CORE, 1, 1}, /* as a region's */
        {RLIMIT_MEMLOCK, 64 << 10, 64 << 10},
        {RLIMIT_MSGQUEUE, 0, 0},
        {RLIMIT_NICE, 0, 0},
        {RLIMIT_RTPRIO, 0, 0},
        {RLIMIT_NPROC, TEMPLATE_TASKS, RLIM_INFINITY}, /* the last: of an interpreter alone, because its regions are counted below it */
};

static const PlanWarm *template_interpreter(const char *path) {
        const char *name = strrchr(path, '/') + 1;
        size_t i = 0;

        while (strcmp(plan_warm[i].name, name) != 0)
                i++;
        return &plan_warm[i];
}

/* Arguments, environment and limits. Returns 0, -ENOMEM, or -EACCES for an interpreter that somebody besides root can change. */
static int template_words(Plan *v) {
        const PlanWarm *w = v->interpreter ? template_interpreter(v->interpreter) : NULL;
        LaunchSpec *s = &v->spec;
        size_t n = 0;

        while (w && v->preload[n])
                n++;
        s->argv = calloc(n + ARRAY_SIZE(w->options) + 3, sizeof(*s->argv));
        s->env = calloc(ARRAY_SIZE(template_env) + 1, sizeof(*s->env));
        s->limits = calloc(ARRAY_SIZE(template_limits), sizeof(*s->limits));
        v->texts = calloc(1, sizeof(*v->texts));
        if (!s->argv || !s->env || !s->limits || !v->texts)
                return -ENOMEM;
        s->n_limits = ARRAY_SIZE(template_limits) - !w;
        memcpy(s->limits, template_limits, s->n_limits * sizeof(*s->limits));
        if (!w) {
                s->argv[s->n_argv++] = "template";
                return 0;
        }
        if (strncmp(v->interpreter, REGION_LETHE_DIR "/", strlen(REGION_LETHE_DIR "/")) != 0 && !trusted_path(v->interpreter))
                return -EACCES;
        s->argv[s->n_argv++] = v->interpreter;
        for (size_t i = 0; i < ARRAY_SIZE(w->options) && w->options[i]; i++)
                s->argv[s->n_argv++] = w->options[i];
        if (w->folders) {
                v->texts[0] = trusted_folders(v->interpreter);
                if (!v->texts[0])
                        return -ENOMEM;
                v->n_texts = 1;
                s->argv[s->n_argv++] = v->texts[0];
        }
        for (size_t i = 0; i < n; i++)
                s->argv[s->n_argv++] = v->preload[i];
        for (size_t i = 0; i < ARRAY_SIZE(template_env); i++)
                s->env[s->n_env++] = template_env[i];
        return 0;
}

static int template_failed(const StatusRecord *r, int e, Diag *reterr) {
        return e < 0 ? diag(reterr, SPAWN_E_KERNEL, "a template does not answer: %s", strerror(-e))
                     : diag(reterr, SPAWN_E_KERNEL, "a template's root cannot be built: step %s: %s", spawn_step_name(r->a), strerror(r->b));
}

/* Names one of the two processes that the worker made by its pidfd: its number among ours is not what it is in its own namespace. */
static int template_born(int status, int which, pid_t *ret, Diag *reterr) {
        StatusRecord r;
        int pidfd, e = helper_record(status, &r, &pidfd);

        if (e < 0 || r.kind != STATUS_BORN || r.a != which || pidfd < 0) {
                closep(&pidfd);
                return template_failed(&r, e, reterr);
        }
        child_registry_begin(); /* up to here it may have been taken for a stray */
        *ret = pidfd_pid(pidfd);
        e = *ret <= 0 ? -ESRCH : child_registry_note(*ret) ? 0 : -ENOMEM;
        child_registry_done();
        if (e < 0) {
                *ret = 0;
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        }
        close(pidfd);
        return e;
}

/* The worker waits for it, and both that it makes are in the group. */
static int template_group(const TemplateGroups *g, int lifeline, Zygote *n) {
        int e = g ? g->enter(g->userdata, lifeline, &n->group) : send(lifeline, "c", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;

        n->groups = g && e == 0 ? g : NULL;
        return e;
}

/* The worker, and in its place the two that it makes. */
static int template_start(Spawner *s, const Plan *v, const Probe *probe, uint64_t flags, Zygote *n, Diag *reterr) {
        Helper h;
        int e;

        e = helper_start(s, v, probe, flags, &h, reterr);
        if (e == 0)
                e = template_group(spawner_groups(s), h.lifeline, n);
        if (e == 0)
                e = template_born(h.status, TEMPLATE_FIRST, &n->first, reterr);
        if (e == 0)
                e = template_born(h.status, TEMPLATE_ITSELF, &n->pid, reterr);
        n->control = TAKE_FD(h.status);
        n->lifeline = TAKE_FD(h.lifeline);
        helper_end(&h);
        return e;
}

int template_make(Spawner *s, const Plan *p, const Probe *of_region, const UidRange *uids, const ViewOwner *owner, Zygote *ret, Diag *reterr) {
        const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | (owner->net_host ? 0 : CLONE_NEWNET);
        _cleanup_free_ struct sock_filter *filter = NULL;
        _cleanup_(plan_deinit) Plan v = {0};
        Probe probe = *of_region;
        StatusRecord r;
        int e, fd = -1;

        zygote_init(ret);
        probe.region_id = 0;
        e = probe.root ? uids_take(uids, &probe.region_id, reterr) : 0;
        ret->uid = probe.region_id;
        if (e == 0)
                e = plan_of_view(p, &v);
        if (e == 0)
                e = template_words(&v);
        if (e == 0)
                e = filter_of_template(&filter, &v.spec.n_filter);
        v.spec.filter = filter;
        if (e == 0)
                e = template_start(s, &v, &probe, flags, ret, reterr);
        if (e == 0 && ((e = helper_record(ret->control, &r, &fd)) < 0 || r.kind != STATUS_READY))
                e = template_failed(&r, e, reterr);
        closep(&fd);
        if (e == 0 && ret->groups)
                ret->groups->serves(ret->groups->userdata, ret->group);
        if (e != 0) {
                if (ret->pid > 0)
                        kill(ret->pid, SIGKILL);
                zygote_end(ret);
        }
        return e;
}
