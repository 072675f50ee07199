#include "spawn/proc-files.h"

#include "base/buf.h"
#include "base/util.h"
#include "schema/limits.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* uname(2) says the kernel's real release. This one is the oldest that has all that programs of Debian 12 look for. */
#define RELEASE "6.1.0"
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define MEMORY_UNBOUNDED (8ULL << 30)
#define BOOTED 1700000000 /* a time in the past: the host's would tell when it was started */

typedef struct FixedFile {
        const char *path, *text;
} FixedFile;

static const FixedFile fixed[] = {
        {"/proc/version", "Linux version " RELEASE " (lethe@lethe) #1 SMP\n"},
        {"/proc/loadavg", "0.00 0.00 0.00 1/1 1\n"},
        {"/proc/uptime", "1.00 1.00\n"},
        {"/proc/filesystems", "nodev\ttmpfs\nnodev\tproc\nnodev\tdevpts\n\text4\n"},
        {"/proc/mounts", "lethe / tmpfs ro,nosuid,nodev 0 0\nlethe /work tmpfs rw,nosuid,nodev 0 0\n"
                         "lethe /tmp tmpfs rw,nosuid,nodev 0 0\nproc /proc proc ro,nosuid,nodev,noexec 0 0\n"},
        {"/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"},
        {"/proc/cmdline", "\n"},
        {"/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"},
        {"/proc/sys/kernel/osrelease", RELEASE "\n"},
        {"/proc/sys/kernel/ostype", "Linux\n"},
        {"/proc/sys/kernel/version", "#1 SMP\n"},
        {"/proc/sys/kernel/pid_max", "4194304\n"},
        {"/proc/sys/kernel/threads-max", "4194304\n"},
        {"/proc/sys/kernel/ngroups_max", "65536\n"},
        {"/proc/sys/kernel/cap_last_cap", "40\n"},
        {"/proc/sys/kernel/overflowuid", "65534\n"},
        {"/proc/sys/kernel/overflowgid", "65534\n"},
        {"/proc/sys/kernel/random/entropy_avail", "256\n"},
        {"/proc/sys/kernel/random/poolsize", "256\n"},
        {"/proc/sys/kernel/seccomp/actions_avail", "kill_process kill_thread trap errno user_notif trace log allow\n"},
        {"/proc/sys/vm/overcommit_memory", "0\n"},
        {"/proc/sys/vm/max_map_count", "65530\n"},
        {"/proc/sys/vm/mmap_min_addr", "65536\n"},
        {"/proc/sys/fs/nr_open", "1048576\n"},
        {"/proc/sys/fs/file-max", "9223372036854775807\n"},
        {"/proc/sys/fs/pipe-max-size", "65536\n"},
        {"/proc/sys/fs/inotify/max_user_instances", TEXT(REGION_INOTIFY_INSTANCES) "\n"},
        {"/proc/sys/fs/inotify/max_user_watches", TEXT(REGION_INOTIFY_WATCHES) "\n"},
        {"/proc/sys/fs/inotify/max_queued_events", "16384\n"},
        {"/proc/sys/net/core/somaxconn", "4096\n"},
};

/* Of the processor's features only the old ones that every machine of the last ten years has, and only if this one has
 * them: a program may choose code by this list. */
static void files_add_features(Buf *b) {
#ifdef __x86_64__
        buf_add_str(b, "flags\t\t: fpu tsc cx8 cmov mmx fxsr sse sse2 syscall nx lm");
        buf_add_str(b, __builtin_cpu_supports("sse3") ? " pni" : "");
        buf_add_str(b, __builtin_cpu_supports("ssse3") ? " ssse3" : "");
        buf_add_str(b, __builtin_cpu_supports("sse4.1") ? " sse4_1" : "");
        buf_add_str(b, __builtin_cpu_supports("sse4.2") ? " sse4_2" : "");
        buf_add_str(b, __builtin_cpu_supports("popcnt") ? " popcnt" : "");
        buf_add_str(b, "\n");
#else
        buf_add_str(b, "Features\t: fp asimd\n");
#endif
}

static void files_add_cpuinfo(Buf *b, unsigned cpus) {
        for (unsigned i = 0; i < cpus; i++) {
                buf_printf(b, "processor\t: %u\nvendor_id\t: lethe\ncpu family\t: 6\nmodel\t\t: 1\nmodel name\t: lethe\n"
                              "stepping\t: 1\ncpu MHz\t\t: 1000.000\ncache size\t: 1024 KB\nphysical id\t: 0\n"
                              "siblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n",
                           i, cpus, i, cpus);
                files_add_features(b);
                buf_add_str(b, "bogomips\t: 2000.00\naddress sizes\t: 48 bits physical, 48 bits virtual\n\n");
        }
}

static void files_add_meminfo(Buf *b, const Budget *budget) {
        static const char *const none[] = {
                "Buffers", "Cached", "SwapCached", "Active", "Inactive", "Unevictable", "Mlocked", "SwapTotal",
                "SwapFree", "Dirty", "Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim",
                "PageTables", "Committed_AS", "HugePages_Total", "HugePages_Free",
        };
        unsigned long long kib =
                (budget->memory_bytes == BUDGET_NONE ? MEMORY_UNBOUNDED : budget->memory_bytes) / 1024;

        buf_printf(b, "MemTotal: %15llu kB\nMemFree: %16llu kB\nMemAvailable: %11llu kB\n", kib, kib, kib);
        for (size_t i = 0; i < ARRAY_SIZE(none); i++)
                buf_printf(b, "%s: %*d%s\n", none[i], 23 - (int)strlen(none[i]), 0,
                           strncmp(none[i], "Huge", 4) == 0 ? "" : " kB");
        buf_printf(b, "CommitLimit: %12llu kB\nHugepagesize:       2048 kB\n", kib);
}

static void files_add_stat(Buf *b, unsigned cpus) {
        buf_add_str(b, "cpu  0 0 0 0 0 0 0 0 0 0\n");
        for (unsigned i = 0; i < cpus; i++)
                buf_printf(b, "cpu%u 0 0 0 0 0 0 0 0 0 0\n", i);
        buf_printf(b, "intr 0\nctxt 0\nbtime %d\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n", BOOTED);
}

/* A random UUID as the kernel writes it, but the same for the whole region. */
static void files_add_uuid(Buf *b, const char *path, const char *region) {
        uint8_t u[16];

        crypto_generichash(u, sizeof(u), (const uint8_t *)region, strlen(region), (const uint8_t *)path, strlen(path));
        u[6] = (uint8_t)((u[6] & 0x0F) | 0x40);
        u[8] = (uint8_t)((u[8] & 0x3F) | 0x80);
        for (size_t i = 0; i < sizeof(u); i++)
                buf_printf(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
        buf_add_str(b, "\n");
}

static const char *const made[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel/random/uuid",
                                   "/proc/sys/kernel/random/boot_id"};

bool proc_files_has(const char *path) {
        const size_t n = strlen(path);

        for (size_t i = 0; i < ARRAY_SIZE(fixed) + ARRAY_SIZE(made); i++) {
                const char *file = i < ARRAY_SIZE(fixed) ? fixed[i].path : made[i - ARRAY_SIZE(fixed)];

                if (strncmp(file, path, n) == 0 && (file[n] == 0 || file[n] == '/'))
                        return true;
        }
        return false;
}

int proc_files(const Budget *b, unsigned cpus, const char *region, ProcFile ret[static PROC_FILES_MAX]) {
        int n = 0;

        static_assert(ARRAY_SIZE(fixed) + ARRAY_SIZE(made) <= PROC_FILES_MAX, "all files");
        for (size_t i = 0; i < ARRAY_SIZE(fixed) + ARRAY_SIZE(made); i++) {
                const char *path = i < ARRAY_SIZE(fixed) ? fixed[i].path : made[i - ARRAY_SIZE(fixed)];
                Buf text = {0};

                if (i < ARRAY_SIZE(fixed))
                        buf_add_str(&text, fixed[i].text);
                else if (path == made[0])
                        files_add_cpuinfo(&text, cpus);
                else if (path == made[1])
                        files_add_meminfo(&text, b);
                else if (path == made[2])
                        files_add_stat(&text, cpus);
                else
                        files_add_uuid(&text, path, region);
                if (!text.data) {
                        while (n > 0)
                                free(ret[--n].text);
                        return -ENOMEM;
                }
                ret[n++] = (ProcFile){.path = path, .text = text.data};
        }
        return n;
}
