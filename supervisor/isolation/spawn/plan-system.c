#include "schema/limits.h"
#include "spawn/plan-private.h"
#include "spawn/proc-files.h"

#include <string.h>

static void plan_add_programs(Plan *p, const PlanInput *in) {
        const Probe *probe = in->probe;
        const uint8_t follow = LAUNCH_FOLLOW;

        plan_add(p, LAUNCH_BIND, follow, "/usr", "/usr");
        for (size_t i = 0; i < PROBE_LINKS; i++)
                if (probe->system[i].kind == PROBE_LINK)
                        plan_add(p, in->tier == TIER_NAMESPACES ? LAUNCH_LINK : LAUNCH_BIND,
                                 in->tier == TIER_NAMESPACES ? 0 : follow, probe_system_names[i],
                                 in->tier == TIER_NAMESPACES ? probe->system[i].text : probe_system_names[i]);
                else if (probe->system[i].kind == PROBE_FOLDER)
                        plan_add(p, LAUNCH_BIND, follow, probe_system_names[i], probe_system_names[i]);
}

/* Of the host's /etc only what configures programs, and with the host's network what its names need. */
static void plan_add_etc(Plan *p, const PlanInput *in) {
        static const char *const optional[] = {"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime",
                                               "/etc/ssl/openssl.cnf", "/etc/ssl/certs"};
        static const char *const network[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services"};
        const uint8_t maybe = LAUNCH_FOLLOW | LAUNCH_OPTIONAL;

        for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
                plan_add(p, LAUNCH_BIND, maybe, optional[i], optional[i]);
        for (size_t i = 0; i < in->probe->n_etc; i++) {
                const char *path = plan_text(p, "/etc/%s", in->probe->etc[i]);

                plan_add(p, LAUNCH_BIND, maybe, path, path);
        }
        for (size_t i = 0; i < ARRAY_SIZE(network) && in->grant->network == NETWORK_HOST; i++)
                plan_add(p, LAUNCH_BIND, maybe, network[i], network[i]);
}

static bool plan_is_target(const Grant *g, const char *path) {
        for (size_t i = 0; i < g->n_files; i++)
                if (strcmp(g->files[i].target, path) == 0)
                        return true;
        return false;
}

/* Constant: nothing about the host's users, name, or machine. */
static void plan_add_generated(Plan *p, const PlanInput *in) {
        static const struct {
                const char *path, *text;
        } files[] = {
                {"/etc/passwd", "skill:x:1000:1000:skill:/work:/bin/sh\n"
                                "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
                {"/etc/group", "skill:x:1000:\nnogroup:x:65534:\n"},
                {"/etc/hostname", "lethe\n"},
                {"/etc/machine-id", "6c657468650000000000000000000001\n"},
        }, names[] = {
                {"/etc/hosts", "127.0.0.1 localhost lethe\n::1 localhost\n"},
                {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n"},
                {"/etc/resolv.conf", "# no name server: the region has no network of the host\n"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                plan_add(p, LAUNCH_FILE, 0, files[i].path, files[i].text);
        for (size_t i = 0; i < ARRAY_SIZE(names) && in->grant->network != NETWORK_HOST; i++)
                plan_add(p, LAUNCH_FILE, 0, names[i].path, names[i].text);
        /* a link cannot be mounted over */
        if (!plan_is_target(in->grant, "/etc/os-release"))
                plan_add(p, LAUNCH_LINK, 0, "/etc/os-release", "../usr/lib/os-release");
}

static void plan_add_proc(Plan *p, const PlanInput *in) {
        ProcFile files[PROC_FILES_MAX];
        int n = proc_files(&in->grant->budget, MAX(in->cpus, 1U), in->region, files);

        p->failed |= n < 0;
        for (int i = 0; i < n; i++)
                plan_add(p, LAUNCH_FILE, LAUNCH_IN_PROC, files[i].path, plan_keep(p, files[i].text));
        plan_add(p, LAUNCH_LINK, 0, "/dev/fd", "/proc/self/fd");
        plan_add(p, LAUNCH_LINK, 0, "/dev/stdin", "/proc/self/fd/0");
        plan_add(p, LAUNCH_LINK, 0, "/dev/stdout", "/proc/self/fd/1");
        plan_add(p, LAUNCH_LINK, 0, "/dev/stderr", "/proc/self/fd/2");
        plan_add(p, LAUNCH_LINK, 0, "/etc/mtab", "/proc/mounts");
}

/* Names of descriptors, for stat(2) alone: the supervisor answers an open (region/region-reopen.c). A FIFO, as most of
 * them are. A shell takes the numbers of process substitution from 63 down. */
static void plan_add_streams(Plan *p) {
        static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr", REGION_FD_DIR "/0", REGION_FD_DIR "/1", REGION_FD_DIR "/2",
                                            REGION_FD_DIR "/62", REGION_FD_DIR "/63"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                plan_add(p, LAUNCH_FIFO, 0, names[i], "");
}

/* /dev/tty of the host is the controlling terminal of the process that opens it, whatever the process is. The worker
 * mounts the devpts. */
static void plan_add_terminals(Plan *p, const PlanInput *in) {
        const bool streams = in->tier == TIER_NAMESPACES && !in->grant->proc && in->grant->report_paths;

        if (in->grant->terminal || grant_has_terminals(in->grant, in->tier))
                plan_add(p, LAUNCH_BIND, LAUNCH_FOLLOW | LAUNCH_DEVICE | LAUNCH_TTY, "/dev/tty", "/dev/tty");
        else if (streams)
                plan_add(p, LAUNCH_FIFO, 0, "/dev/tty", "");
        if (!grant_has_terminals(in->grant, in->tier))
                return;
        plan_add(p, LAUNCH_FOLDER, 0, TERMINALS_DIR, "");
        plan_add(p, LAUNCH_LINK, 0, "/dev/ptmx", "pts/ptmx");
}

void plan_add_system(Plan *p, const PlanInput *in) {
        static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

        plan_add_programs(p, in);
        /* Entries of a folder together: the worker opens the folder once. */
        plan_add_etc(p, in);
        if (in->tier == TIER_NAMESPACES)
                plan_add_generated(p, in);
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
                plan_add(p, LAUNCH_BIND, LAUNCH_FOLLOW | LAUNCH_DEVICE, devices[i], devices[i]);
        plan_add_terminals(p, in);
        if (in->tier != TIER_NAMESPACES)
                return;
        /* shm_open() and sem_open(): in the scratch, and so in its budget */
        plan_add(p, LAUNCH_LINK, 0, "/dev/shm", "/tmp");
        if (in->grant->proc)
                plan_add_proc(p, in);
        else if (in->grant->report_paths)
                plan_add_streams(p);
}
