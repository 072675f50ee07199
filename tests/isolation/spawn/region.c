/* REGION_WAY: 0 executes each worker, 1 has it from a zygote, 2 from the zygote of its view where there can be one; 3 likewise, and what it is
 * started with is said when it is ready. */
#include "tests/isolation/spawn/region.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "base/child-registry.h"
#include "spawn/find.h"
#include "spawn/spawner-private.h"
#include "spawn/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const Tier region_tiers[2] = {TIER_NAMESPACES, TIER_LANDLOCK};

size_t region_tiers_here(void) {
        return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 6 ? 2 : 1;
}

const char *region_store(void) {
        static char path[512];

        snprintf(path, sizeof(path), "%s/store-XXXXXX", getenv("TMPDIR") ?: "/tmp");
        return mkdtemp(path);
}

bool region_no_child_is_left(void) {
        for (int ms = 0; ms < 60000 && waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0; ms++) { /* ends a hang */
                child_registry_reap_dead();
                poll(NULL, 0, 1);
        }
        return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static void answer(int notify, const Spawned *s, RunEnd *e) {
        struct seccomp_notif q = {0};
        struct seccomp_notif_resp a = {0};
        FilterVerdict v;
        size_t n = strlen(e->denied);

        if (ioctl(notify, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0)
                return;
        filter_judge(&s->filter, &q.data, &v);
        a.id = q.id;
        if (v.kind == FILTER_DENY || v.kind == FILTER_CONNECT || v.kind == FILTER_LISTEN) {
                a.error = -(v.kind == FILTER_DENY ? v.error : ECONNREFUSED);
                snprintf(e->denied + n, sizeof(e->denied) - n, "%s/%s ", v.operation, v.rule);
        } else
                a.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        e->n_path += v.kind == FILTER_PATH;
        e->n_memory += v.kind == FILTER_MEMORY && !v.shared;
        e->n_task += v.kind == FILTER_TASK;
        ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &a);
}

static void take(int fd, RunEnd *e, bool *open_) {
        size_t n = strlen(e->out);
        char drop[4096];
        ssize_t r = n + 1 < sizeof(e->out) ? read(fd, e->out + n, sizeof(e->out) - 1 - n) : read(fd, drop, sizeof(drop));

        if (r > 0 && n + 1 < sizeof(e->out))
                e->out[n + (size_t)r] = 0;
        *open_ = r > 0;
}

static void enter_groups(Spawned *s, const char *const *folders) {
        int tasks[LAUNCH_GROUPS_MAX];
        size_t n = 0;

        for (; folders && *folders; folders++) {
                char path[512];

                snprintf(path, sizeof(path), "%s/tasks", *folders);
                tasks[n] = open(path, O_WRONLY | O_CLOEXEC);
                n += tasks[n] >= 0;
        }
        spawn_groups(s, tasks, n);
        while (n > 0)
                close(tasks[--n]);
}

static void loop(const RunWish *w, const SpawnRequest *q, const Grant *g, Spawned *s, int out, RunEnd *e) {
        bool out_open = true, status_open = true;
        int notify = -1, scratch = -1, listener = -1;

        while (status_open || out_open) {
                struct pollfd p[4] = {{status_open ? s->status : -1, POLLIN, 0}, {notify, POLLIN, 0}, {out_open ? out : -1, POLLIN, 0}, {listener, POLLIN, 0}};

                if (poll(p, 4, 60000) <= 0) {
                        e->hung = true;
                        spawn_kill(s);
                        spawn_kill(s);
                        break;
                }
                if (p[3].revents) {
                        int fd = accept(listener, NULL, NULL);

                        if (write(fd, "answer", 6) != 6)
                                snprintf(e->message, sizeof(e->message), "answer: %s", strerror(errno));
                        closep(&fd);
                }
                if (p[1].revents & POLLIN)
                        answer(notify, s, e);
                else if (p[1].revents)
                        closep(&notify);
                if (p[2].revents) {
                        take(out, e, &out_open);
                        if (out_open && w->tell > 0 && write(w->tell, "t", 1) != 1)
                                snprintf(e->message, sizeof(e->message), "tell: %s", strerror(errno));
                        if (out_open && w->peek) {
                                int fd = open(w->peek, O_RDONLY | O_CLOEXEC);
                                ssize_t k = fd < 0 ? -1 : read(fd, e->peeked, sizeof(e->peeked) - 1);

                                e->peeked[k > 0 ? k : 0] = 0;
                                closep(&fd);
                        }
                        if (out_open && w->kill_when_running)
                                spawn_kill(s);
                        if (out_open && w->close_lifeline)
                                closep(&s->lifeline);
                }
                if (p[0].revents) {
                        StatusRecord r;
                        int n1, n2, got = spawn_status(s, &r, &n1, &n2);

                        status_open = got > 0 || got == -EAGAIN;
                        if (got <= 0)
                                continue;
                        if (r.kind == STATUS_BORN) {
                                scratch = n2;
                                for (size_t i = 0; i < LISTEN_MAX && g->listen[i]; i++) {
                                        closep(&listener);
                                        listener = spawn_listener(s, g, g->listen[i]);
                                        e->n_listeners += listener >= 0;
                                }
                                enter_groups(s, w->cgroups);
                        } else if (r.kind == STATUS_READY) {
                                notify = n1;
                                if (w->kill_when_ready)
                                        spawn_kill(s);
                                else if (!q->later || (e->start = spawn_words(s, g, q->region)) == 0)
                                        spawn_go(s);
                                else
                                        spawn_kill(s);
                        } else if (r.kind == STATUS_ENDED)
                                e->status = r.a;
                        else {
                                Diag d = {0};

                                e->step = r.a;
                                e->error = r.b;
                                spawn_explain(s, &r, &d);
                                snprintf(e->message, sizeof(e->message), "%s", d.text);
                        }
                }
        }
        closep(&notify);
        closep(&listener);
        closep(&scratch);
}

void region_try_with(Spawner *spawner, const RunWish *w, RunEnd *e) {
        static char *const env[] = {"PATH=/lethe/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/work", "TMPDIR=/tmp", "LANG=C.UTF-8",
                                  "PYTHONPATH=/lethe/python", "PYTHONDONTWRITEBYTECODE=1", NULL};
        Grant g = {.argv = (char **)w->argv, .env = (char **)env, .program = (char *)w->program,
                   .program_copy = (char *)w->program, .skill_dir = (char *)w->skill_dir,
                   .preload = (char **)w->preload, .client = w->client,
                   .files = (FileGrant *)w->files, .n_files = w->n_files, .network = w->network, .listen = {w->listen[0], w->listen[1]}, .proc = w->proc,
                   .report_paths = w->report_paths, .tier = w->tier, .min_tier = w->tier ?: TIER_NAMESPACES, .budget = w->budget};
        Grant unknown;
        Spawned s = SPAWNED_NULL;
        Diag d = {0};
        Probe p;
        char id[REGION_ID_MAX];
        int in[2], out[2], pipes[2];
        SpawnRequest r;

        *e = (RunEnd){.status = -1};
        g.budget.memory_bytes = g.budget.memory_bytes ?: 128 << 20;
        g.budget.cpu_usec = g.budget.cpu_usec ?: 20000000;
        g.budget.processes = g.budget.processes ?: 64;
        g.budget.open_files = g.budget.open_files ?: 256;
        g.budget.file_bytes = g.budget.file_bytes ?: 8 << 20;
        g.budget.scratch_bytes = g.budget.scratch_bytes ?: 8 << 20;
        unknown = g;
        find_set_folder(LETHE_BUILD_DIR);
        probe_quick(&p);
        if (region_id_new(clock_real_usec(), id) < 0 || pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
            pipe2(pipes, O_CLOEXEC) < 0) {
                e->start = -errno;
                return;
        }
        r = (SpawnRequest){.grant = &g, .probe = &p, .region = w->region ?: id, .store_dir = w->store ?: region_store(),
                           .memory_in_cgroup = !w->no_memory_cgroup, .tasks_in_cgroup = !w->no_tasks_cgroup,
                           .io = {in[0], out[1], out[1], pipes[0], pipes[1]}};
        r.spawner = spawner;
        if ((REGION_WAY == 3 || w->later) && w->tier != TIER_LANDLOCK) {
                r.later = true;
                r.grant = &unknown;
                unknown.argv = unknown.env = NULL;
        }
        e->start = spawn_start(&r, &s, &d);
        snprintf(e->message, sizeof(e->message), "%s", d.text);
        close(in[0]);
        close(in[1]);
        close(out[1]);
        close(pipes[0]);
        if (e->start == 0) {
                e->tier = s.tier;
                e->warm = s.warm;
                loop(w, &r, &g, &s, out[0], e);
                while (waitpid(s.pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                if (!spawner)
                        e->orphans = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0;
                e->prove = spawn_prove_empty(&s, 0, &d);
                if (e->prove != 0)
                        snprintf(e->message, sizeof(e->message), "%s", d.text);
                if (s.scratch)
                        spawn_scratch_remove(s.scratch);
                spawned_deinit(&s);
        }
        close(out[0]);
        close(pipes[1]);
}

void region_try(const RunWish *w, RunEnd *e) {
        Spawner *spawner = NULL;
        Diag d = {0};
        int r = 0;

        find_set_folder(LETHE_BUILD_DIR);
        spawner_eager = REGION_WAY >= 2;
        if (REGION_WAY > 0)
                r = spawner_new(&spawner, &d);
        if (r != 0) {
                *e = (RunEnd){.status = -1, .start = r};
                return;
        }
        region_try_with(spawner, w, e);
        spawner_free(spawner);
        if (spawner) /* a helper that was killed, and does not die within a second, is no orphan of the region */
                e->orphans = !region_no_child_is_left();
}
