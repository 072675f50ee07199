/* Runs: supervisor. A template: a worker that builds the root of a view, confines itself inside, and forks the regions
 * of the view. A template has a PID namespace of its own; the end of its first process kills all of the template. */
#include "base/proc.h"
#include "policy/filter.h"
#include "schema/limits.h"
#include "spawn/helper.h"
#include "base/child-registry.h"
#include "spawn/uids.h"
#include "base/buf.h"
#include "base/owner.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Besides the interpreter's built-in folders. Each interpreter takes the folders of its version, in its own order. */
static const struct {
        const char *interpreter, *folders[10];
} template_places[] = {
        {"python3", {"/usr/lib/python3/dist-packages", "/usr/lib/python3.*/site-packages",
                "/usr/lib/python3.*/dist-packages", "/usr/lib64/python3.*/site-packages",
                "/usr/local/lib/python3.*/dist-packages", "/usr/local/lib/python3.*/site-packages",
                "/usr/local/lib64/python3.*/site-packages"}},
        {"perl", {"/usr/share/perl5", "/usr/share/perl5/*_perl", "/usr/share/perl/*", "/usr/lib/*/perl-base",
                "/usr/lib/*/perl/*", "/usr/lib/*/perl5/*", "/usr/lib*/perl5", "/usr/lib*/perl5/*_perl",
                "/usr/local/share/perl*/*", "/usr/local/lib/*/perl/*"}},
        {"lethe-load", {"/lib", "/lib64", "/lib/*-linux-gnu*", "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu*",
                "/usr/local/lib", "/usr/local/lib64", "/usr/local/lib/*-linux-gnu*"}},
};

static bool template_is_roots(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
               owner_server(path, &st) == 0;
}

/* True: only root can change the path's target, with each folder on the way, links followed. */
static bool template_is_trusted(const char *path) {
        char real[PATH_MAX];

        if (!realpath(path, real) || !template_is_roots("/") || !template_is_roots(real))
                return false;
        for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                if (!template_is_roots(real))
                        return false;
                *slash = '/';
        }
        return true;
}

/* Returns 0 or -ENOMEM. */
static int template_add_folder(Buf *b, const char *pattern) {
        glob_t found;
        int e = 0;

        if (glob(pattern, 0, NULL, &found) != 0)
                return 0;
        for (size_t i = 0; i < found.gl_pathc && e == 0; i++) {
                const char *path = found.gl_pathv[i];

                if (!strchr(path, ':') && template_is_trusted(path))
                        e = buf_add(b, path, strlen(path)) ?: buf_add(b, ":", 1);
        }
        globfree(&found);
        return e;
}

/* The module folders of the named interpreter that pass template_is_trusted() and are below /usr (or /lib), joined by
 * ':'; owned. "": no folder, or an interpreter without such folders. NULL: out of memory. */
static char *template_folders(const char *interpreter) {
        const char *slash = strrchr(interpreter, '/'), *name = slash ? slash + 1 : interpreter;
        Buf b = {};
        int e = 0;

        for (size_t i = 0; i < ARRAY_SIZE(template_places); i++)
                for (size_t k = 0;
                     k < ARRAY_SIZE(template_places[i].folders) && template_places[i].folders[k] && e == 0; k++)
                        if (strcmp(template_places[i].interpreter, name) == 0)
                                e = template_add_folder(&b, template_places[i].folders[k]);
        e = e ?: buf_add(&b, "", 1);
        if (e < 0)
                buf_deinit(&b);
        else if (b.n > 1)
                b.data[b.n - 2] = 0; /* the last ':' */
        return e < 0 ? NULL : b.data;
}

/* The defaults of a skill's interpreter: an interpreter with different values is executed in the region. */
static const char *const template_env[] = {"PATH=" REGION_LETHE_DIR "/bin:" REGION_PATH, "LANG=C.UTF-8",
                                           "LD_BIND_NOW=1", /* before the fork, not in each region */
                                           "LD_PRELOAD=" REGION_LETHE_DIR "/warm/liblethe-warm.so"};

static const LaunchLimit template_limits[] = {
        {RLIMIT_DATA, TEMPLATE_DATA_BYTES, RLIM_INFINITY},
        {RLIMIT_AS, TEMPLATE_SPACE_BYTES, RLIM_INFINITY},
        {RLIMIT_CORE, 1, 1}, /* as a region's */
        {RLIMIT_MEMLOCK, 64 << 10, 64 << 10},
        {RLIMIT_MSGQUEUE, 0, 0},
        {RLIMIT_NICE, 0, 0},
        {RLIMIT_RTPRIO, 0, 0},
        /* the last: only for an interpreter, because its regions are counted below */
        {RLIMIT_NPROC, TEMPLATE_TASKS, RLIM_INFINITY},
};

static const PlanWarm *template_interpreter(const char *path) {
        const char *name = strrchr(path, '/') + 1;
        size_t i = 0;

        while (strcmp(plan_warm[i].name, name) != 0)
                i++;
        return &plan_warm[i];
}

/* Arguments, environment, limits. Returns 0, -ENOMEM, -EACCES: a user other than root can change the interpreter. */
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
        if (strncmp(v->interpreter, REGION_LETHE_DIR "/", strlen(REGION_LETHE_DIR "/")) != 0 &&
            !template_is_trusted(v->interpreter))
                return -EACCES;
        s->argv[s->n_argv++] = v->interpreter;
        for (size_t i = 0; i < ARRAY_SIZE(w->options) && w->options[i]; i++)
                s->argv[s->n_argv++] = w->options[i];
        if (w->folders) {
                v->texts[0] = template_folders(v->interpreter);
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
                     : diag(reterr, SPAWN_E_KERNEL, "a template's root cannot be built: step %s: %s",
                            spawn_step_name(r->a), strerror(r->b));
}

/* Reads the pid of one of the worker's two processes by its pidfd: the number inside of the namespace differs. */
static int template_born(int status, int which, pid_t *ret, Diag *reterr) {
        StatusRecord r;
        int pidfd, e = helper_record(status, &r, &pidfd);

        if (e < 0 || r.kind != STATUS_BORN || r.a != which || pidfd < 0) {
                closep(&pidfd);
                return template_failed(&r, e, reterr);
        }
        child_registry_begin(); /* until here the process may have been taken for a stray */
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

/* The worker waits for the group, and both processes of the worker are in the group. */
static int template_group(const TemplateGroups *g, int lifeline, Zygote *n) {
        int e = g ? g->enter(g->userdata, lifeline, &n->group) : send(lifeline, "c", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;

        n->groups = g && e == 0 ? g : NULL;
        return e;
}

/* Starts the worker, which the two processes replace. */
static int template_start(Spawner *s, const Plan *v, const Probe *probe, uint64_t flags, Zygote *n, Diag *reterr) {
        Helper h;
        int e;

        e = helper_start(s, v, probe, flags, &h, reterr);
        e = e ?: template_group(spawner_groups(s), h.lifeline, n);
        e = e ?: template_born(h.status, TEMPLATE_FIRST, &n->first, reterr);
        e = e ?: template_born(h.status, TEMPLATE_ITSELF, &n->pid, reterr);
        n->control = TAKE_FD(h.status);
        n->lifeline = TAKE_FD(h.lifeline);
        helper_end(&h);
        return e;
}

int template_make(Spawner *s, const Plan *p, const Probe *of_region, const UidRange *uids, const ViewOwner *owner,
                  Zygote *ret, Diag *reterr) {
        const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                               (owner->net_host ? 0 : CLONE_NEWNET);
        _cleanup_free_ struct sock_filter *filter = NULL;
        _cleanup_(plan_deinit) Plan v = {0};
        Probe probe = *of_region;
        StatusRecord r;
        int e, fd = -1;

        zygote_init(ret);
        probe.region_id = 0;
        e = probe.root ? uids_take(uids, &probe.region_id, reterr) : 0;
        ret->uid = probe.region_id;
        e = e ?: plan_of_view(p, &v);
        e = e ?: template_words(&v);
        e = e ?: filter_of_template(&filter, &v.spec.n_filter);
        v.spec.filter = filter;
        e = e ?: template_start(s, &v, &probe, flags, ret, reterr);
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
