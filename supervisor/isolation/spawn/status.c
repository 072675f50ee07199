/* Runs: supervisor. The worker's records, and the permission to continue. */
#include "base/io.h"
#include "base/proc.h"
#include "schema/launch.h"
#include "spawn/spawn.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#define TMPFS_TYPE 0x01021994

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

        return fstatfs(fd, &st) == 0 && st.f_type == TMPFS_TYPE;
}

int spawn_status(Spawned *s, StatusRecord *ret, int *ret_notify, int *ret_scratch) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(8 * sizeof(int))];
        } control;
        StatusRecord r;
        struct iovec v = {.iov_base = &r, .iov_len = sizeof(r)};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        int fds[8];
        size_t n_fds = 0;
        bool good;
        ssize_t n;

        *ret_notify = *ret_scratch = -1;
        n = TEMP_FAILURE_RETRY(recvmsg(s->status, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
        if (n < 0)
                return errno == ECONNRESET ? 0 : -errno;
        if (n == 0 && m.msg_controllen == 0)
                return 0;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                        for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len && n_fds < ARRAY_SIZE(fds);
                             i++)
                                memcpy(&fds[n_fds++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        good = n == (ssize_t)sizeof(r) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && r.kind >= STATUS_STEP_FAILED &&
               r.kind <= STATUS_ENDED;
        /* Once each, with exactly its descriptors: a hostile first process must not slip in more. */
        if (good && r.kind == STATUS_BORN)
                good = !s->born && n_fds == (s->tier == TIER_NAMESPACES ? 1U : 0U) &&
                       (n_fds < 1 || status_is_tmpfs(fds[0]));
        else if (good && r.kind == STATUS_READY)
                good = s->born && !s->ready && n_fds == 1;
        else if (good)
                good = n_fds == 0;
        if (!good) {
                for (size_t i = 0; i < n_fds; i++)
                        close(fds[i]);
                return -EPROTO;
        }
        s->born |= r.kind == STATUS_BORN;
        s->ready |= r.kind == STATUS_READY;
        if (n_fds > 0)
                *(r.kind == STATUS_BORN ? ret_scratch : ret_notify) = fds[0];
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
