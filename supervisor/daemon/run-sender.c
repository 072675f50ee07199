/* Runs: supervisor. Who ended an invocation from outside, as it is recorded: a person, the daemon that ends, or systemd, and then why it did. */
#include "daemon/run-internal.h"

#include "base/proc.h"
#include "region/region-cgroup-home.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The manager of the system, or of a user. */
static bool sender_is_systemd(uint32_t pid) {
        char path[64], name[32];

        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
        return pid > 0 && proc_read(path, name, sizeof(name)) > 0 && strcmp(name, "systemd\n") == 0;
}

void run_sender(const struct signalfd_siginfo *si, char ret[static SENDER_MAX]) {
        const char *name = strsignal((int)si->ssi_signo);
        HomeUnit u;
        int n;

        if (si->ssi_pid == (uint32_t)getpid()) {
                snprintf(ret, SENDER_MAX, "lethe serve ends, and stopped what still ran (%s)", name);
                return;
        }
        if (!sender_is_systemd(si->ssi_pid)) {
                snprintf(ret, SENDER_MAX, "%s from process %u of uid %u", name, si->ssi_pid, si->ssi_uid);
                return;
        }
        home_unit(&u);
        n = snprintf(ret, SENDER_MAX, "systemd (process %u of uid %u) stopped %s (%s)", si->ssi_pid, si->ssi_uid, *u.name ? u.name : "this process", name);
        if (u.oom_kills > 0 && u.limit != UINT64_MAX)
                snprintf(ret + n, SENDER_MAX - (size_t)n, ", in which the out-of-memory killer had ended %" PRIu64 " processes; its memory.max is %" PRIu64, u.oom_kills, u.limit);
        else if (u.oom_kills > 0)
                snprintf(ret + n, SENDER_MAX - (size_t)n, ", in which the out-of-memory killer had ended %" PRIu64 " processes", u.oom_kills);
}
