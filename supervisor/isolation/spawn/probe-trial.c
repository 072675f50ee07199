/* The one question that counts, answered by trying: does a region start here? */
#include "base/clock.h"
#include "base/id.h"
#include "spawn/probe-full.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define TRIAL_MS 10000

/* Waits for the program's end. Returns 0 or SPAWN_E_*. */
static int follow(Spawned *s, Diag *reterr) {
        int r = diag(reterr, SPAWN_E_KERNEL, "nothing was heard of the trial region for %d s", TRIAL_MS / 1000);
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
                        return diag(reterr, SPAWN_E_KERNEL, "/bin/true cannot be executed in a region: %s", strerror(got.b));
                else
                        return got.a == 0 ? 0 : diag(reterr, SPAWN_E_KERNEL, "/bin/true ended with status 0x%x in a region", (unsigned)got.a);
        }
}

static int try_tier(Tier tier, const char *store_dir, Diag *reterr) {
        char *argv[] = {(char *)"/bin/true", NULL};
        const Grant g = {.argv = argv, .tier = tier, .min_tier = tier,
                         .budget = {.memory_bytes = 64 << 20, .cpu_usec = 1000000, .processes = 8, .open_files = 32, .file_bytes = 1 << 20,
                                    .scratch_bytes = 1 << 20}};
        _cleanup_spawned_ Spawned s = SPAWNED_NULL;
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        char id[REGION_ID_MAX];
        Probe p;
        const SpawnRequest r = {.grant = &g, .probe = &p, .region = id, .store_dir = store_dir ?: "/nonexistent", .memory_in_cgroup = true,
                                .tasks_in_cgroup = true, .io = {null, null, null, null, null}};
        int e;

        if (null < 0)
                return diag(reterr, SPAWN_E_KERNEL, "/dev/null: %s", strerror(errno));
        probe_quick(&p);
        e = region_id_new(clock_real_usec(), id);
        if (e == 0)
                e = spawn_start(&r, &s, reterr);
        if (e != 0)
                return e;
        e = follow(&s, reterr);
        spawn_kill(&s);
        spawn_kill(&s);
        while (waitpid(s.pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (s.scratch)
                spawn_scratch_remove(s.scratch);
        return e;
}

static bool trial(ProbeReport *r, const char *name, Tier tier, ProbeLevel level, const char *store_dir) {
        uint64_t from = clock_mono_usec();
        Diag d = {0};
        int e = try_tier(tier, store_dir, &d);

        if (e == 0)
                probe_add(r, name, PROBE_OK, "a region was made, ran a program and ended", "", "works (%llu us)",
                          (unsigned long long)(clock_mono_usec() - from));
        else
                probe_add(r, name, level, "no region of this tier starts here", "what is marked above, or the message itself", "%s",
                          *d.text ? d.text : strerror(e < 0 ? -e : EIO));
        return e == 0;
}

void probe_trial(ProbeReport *r, const char *store_dir, bool *ret_namespaces, bool *ret_landlock) {
        char temporary[] = "/tmp/lethe-doctor-XXXXXX";
        bool made = !store_dir && mkdtemp(temporary);

        if (made)
                store_dir = temporary;
        *ret_namespaces = trial(r, "tier-namespaces", TIER_NAMESPACES, PROBE_FAIL, store_dir);
        *ret_landlock = trial(r, "tier-landlock", TIER_LANDLOCK, PROBE_NOTE, store_dir);
        if (made)
                spawn_scratch_remove(temporary);
}
