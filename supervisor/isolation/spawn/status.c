/* Runs: supervisor. The worker's records, and the permission to continue. */
#include "base/io.h"
#include "base/proc.h"
#include "schema/launch.h"
#include "schema/limits.h"
#include "spawn/spawn.h"

#include <endian.h>
#include <errno.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

static const struct {
        const char *name, *line;
} steps[STEP_COUNT] = {
        [STEP_NONE] = {"none", ""},
#define STEP(id, name, line) [STEP_##id] = {name, line},
#include "schema/steps.def"
#undef STEP
};

const char *spawn_step_name(int step) {
        return step > STEP_NONE && step < STEP_COUNT ? steps[step].name : "unknown";
}

static bool status_is_tmpfs(int fd) {
        struct statfs st;

        return fstatfs(fd, &st) == 0 && st.f_type == TMPFS_MAGIC;
}

/* The sockets of STATUS_LISTENING come in the order of Grant.listen. Returns false for a wrong record. */
static bool status_keep_listener(Spawned *s, int *fd) {
        int listens = 0;
        socklen_t n = sizeof(listens);

        if (s->born || s->tier != TIER_NAMESPACES || *fd < 0 ||
            getsockopt(*fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) < 0 || !listens)
                return false;
        for (size_t i = 0; i < LISTEN_MAX; i++)
                if (s->listeners[i] < 0) {
                        s->listeners[i] = TAKE_FD(*fd);
                        return true;
                }
        return false;
}

/* A master, and in tier namespaces none of the host's devpts: reading and writing it must reach the region alone. */
static bool status_is_master(int fd, bool own) {
        struct stat st, host;
        struct statfs fs;
        unsigned number;

        if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(TTYAUX_MAJOR, 2) ||
            ioctl(fd, TIOCGPTN, &number) < 0)
                return false;
        return !own || (fstatfs(fd, &fs) == 0 && fs.f_type == DEVPTS_SUPER_MAGIC &&
                        (stat(TERMINALS_DIR, &host) < 0 || host.st_dev != st.st_dev));
}

/* A master of the region's own devpts, or of the host's in tier landlock. Returns false for a wrong record. */
static bool status_keep_terminal(Spawned *s, int *fd) {
        if (s->born || !s->awaits_terminal || *fd < 0 || !status_is_master(*fd, s->tier == TIER_NAMESPACES))
                return false;
        s->awaits_terminal = false;
        s->terminal = TAKE_FD(*fd);
        return true;
}

/* The socket of STATUS_SOCKETS; lethe-proxy takes and judges the message in the socket. */
static bool status_keep_sockets(Spawned *s, int *fd) {
        int domain = 0;
        socklen_t n = sizeof(domain);

        if (s->born || s->tier != TIER_NAMESPACES || s->sockets >= 0 || *fd < 0 ||
            getsockopt(*fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0 || domain != AF_UNIX)
                return false;
        s->sockets = TAKE_FD(*fd);
        return true;
}

static bool status_is_early(const StatusRecord *r) {
        return r->kind == STATUS_LISTENING || r->kind == STATUS_SOCKETS || r->kind == STATUS_TERMINAL;
}

static bool status_keep_early(Spawned *s, const StatusRecord *r, int *fd) {
        return r->kind == STATUS_LISTENING ? status_keep_listener(s, fd)
               : r->kind == STATUS_SOCKETS ? status_keep_sockets(s, fd)
                                           : status_keep_terminal(s, fd);
}

int spawn_take_born(Spawned *s, int *ret_scratch) {
        int notify = -1, r = spawn_status(s, &s->early, &notify, ret_scratch);

        if (r == -EAGAIN || (r == 1 && s->early.kind == STATUS_BORN))
                return MIN(r, 0);
        s->early_result = r;
        s->has_early = true;
        return -EPROTO;
}

int spawn_listener(Spawned *s, const Grant *g, uint16_t port) {
        for (size_t i = 0; i < LISTEN_MAX && port != 0; i++)
                if (g->listen[i] == port)
                        return TAKE_FD(s->listeners[i]);
        return -1;
}

int spawn_status(Spawned *s, StatusRecord *ret, int *ret_notify, int *ret_scratch) {
        _cleanup_close_ int fd = -1;
        StatusRecord r;
        ssize_t n;
        bool good;

        *ret_notify = *ret_scratch = -1;
        if (s->has_early) {
                s->has_early = false;
                *ret = s->early;
                return s->early_result;
        }
        n = io_receive_fd(s->status, 0, &r, sizeof(r), &fd);
        good = n == (ssize_t)sizeof(r) && r.kind >= STATUS_STEP_FAILED && r.kind <= STATUS_ENDED;

        if (good && status_is_early(&r))
                return status_keep_early(s, &r, &fd) ? spawn_status(s, ret, ret_notify, ret_scratch) : -EPROTO;
        if (n == -ECONNRESET || (n == 0 && fd < 0))
                return 0;
        if (n < 0)
                return n == -ETIMEDOUT ? -EAGAIN : (int)n;
        /* Once each, with exactly its descriptor: a hostile first process must not slip in more. */
        if (good && r.kind == STATUS_BORN)
                good = !s->born && !s->awaits_terminal &&
                       (s->tier == TIER_NAMESPACES ? fd >= 0 && status_is_tmpfs(fd) : fd < 0);
        else if (good && r.kind == STATUS_READY)
                good = s->born && !s->ready && fd >= 0;
        else if (good)
                good = fd < 0;
        if (!good)
                return -EPROTO;
        s->born |= r.kind == STATUS_BORN;
        s->ready |= r.kind == STATUS_READY;
        *(r.kind == STATUS_BORN ? ret_scratch : ret_notify) = TAKE_FD(fd);
        *ret = r;
        return 1;
}

int spawn_groups(Spawned *s, const int *tasks, size_t n) {
        return n > LAUNCH_GROUPS_MAX ? -E2BIG : io_send_fds(s->lifeline, "c", 1, tasks, n);
}

int spawn_go(Spawned *s) {
        const LaunchTake take = {htole32((uint32_t)s->n_spec), htole32((uint32_t)s->n_words)};

        return s->ahead && s->told ? io_send_fds(s->lifeline, &take, sizeof(take), NULL, 0)
                                   : io_send_fds(s->lifeline, "g", 1, NULL, 0);
}

/* Names the operator's path of the failed step. */
static void status_name_entry(const Spawned *s, const StatusRecord *f, Diag *d) {
        LaunchSpec spec;

        if ((f->a != STEP_BIND && f->a != STEP_WORKDIR && (f->a != STEP_LANDLOCK || s->tier != TIER_LANDLOCK)) ||
            launch_decode(s->spec, s->n_spec, &spec) < 0)
                return;
        if (f->a == STEP_WORKDIR) {
                char workdir[256];

                diag_quote(spec.workdir, strlen(spec.workdir), workdir, sizeof(workdir));
                diag(d, 0, "%s: \"%s\" (-w, --workdir): %s", steps[STEP_WORKDIR].line, workdir, strerror(f->b));
        } else if (f->detail < spec.n_entries) {
                const LaunchEntry *e = &spec.entries[f->detail];
                char source[256], target[256];

                diag_quote(e->source, strlen(e->source), source, sizeof(source));
                diag_quote(e->target, strlen(e->target), target, sizeof(target));
                diag(d, 0, "%s: \"%s\" at \"%s\": %s", steps[f->a].line, source, target, strerror(f->b));
        }
        launch_deinit(&spec);
}

void spawn_add_profile(Diag *d) {
        char profile[128], quoted[256];
        size_t n = strlen(d->text);

        if (n == 0 || !proc_apparmor(profile, sizeof(profile)))
                return;
        diag_quote(profile, strlen(profile), quoted, sizeof(quoted));
        snprintf(d->text + n, sizeof(d->text) - n, "; AppArmor's profile \"%s\" confines this process, which can be "
                 "the cause ('lethe doctor' names a fix)", quoted);
}

int spawn_explain(const Spawned *s, const StatusRecord *f, Diag *reterr) {
        int step = f->a > STEP_NONE && f->a < STEP_COUNT ? f->a : STEP_NONE;
        bool refused = f->b == EPERM || f->b == EACCES;
        Diag d = {0};

        diag(&d, 0, "%s: %s", steps[step].line, f->b != 0 ? strerror(f->b) : "the worker ended there");
        status_name_entry(s, f, &d);
        if (s->tier == TIER_NAMESPACES && refused &&
            (step == STEP_IDENTITY || step == STEP_ROOT || step == STEP_HOSTNAME))
                return diag(reterr, SPAWN_E_TIER, "step %s: %s; namespaces exist here but their owner may not use them "
                            "(AppArmor or a container); fix: see 'lethe doctor'", spawn_step_name(step), d.text);
        if (step == STEP_PROC && refused)
                return diag(reterr, SPAWN_E_TIER, "step proc: %s; a container that hides parts of /proc forbids a new "
                            "one; fix: run without \"proc\"", d.text);
        if (step == STEP_LANDLOCK && refused)
                return diag(reterr, SPAWN_E_KERNEL, "step landlock: %s; fix: let the user of the region reach the path "
                            "(others, or the path's group)", d.text);
        if (step == STEP_LANDLOCK || step == STEP_SECCOMP ||
            ((step == STEP_ROOT || step == STEP_BIND) && f->b == ENOSYS))
                return diag(reterr, SPAWN_E_TIER, "step %s: %s; fix: a kernel of version 5.13 or later with it "
                            "switched on", spawn_step_name(step), d.text);
        return diag(reterr, SPAWN_E_KERNEL, "step %s: %s", spawn_step_name(step), d.text);
}
