/* Judges a notification by the tables that made the filter: would a row have allowed the call without the reporting?
 * Only then may the answer be "continue", and only by numbers that the kernel has read (no pointer is followed). */
#include "policy/filter.h"

#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

typedef struct PathRow {
        const char *call;
        uint8_t path;
        bool at, writes, meta;
} PathRow;

static const PathRow path_rows[] = {
#define PATH(call, path, at, writes) {#call, path, at, writes, false},
#define META(call, path, at) {#call, path, at, true, true},
#include "policy/filter-calls.def"
};

typedef struct DenyRow {
        const char *call, *rule;
        int error;
        const char *allow_with; /* as in FilterVerdict */
} DenyRow;

#define WITH_CONNECT "\"network\": {\"connect\": [\"HOST:PORT\"]}"
#define WITH_LOOPBACK "\"network\": \"loopback\""
#define WITH_HOST "\"network\": \"host\""

/* The second part is for calls that some arguments would have made allowed. */
static const DenyRow deny_rows[] = {
#define META(call, path, at) {#call, "file-metadata", EPERM},
#define DENY(call, rule, error) {#call, rule, error},
#include "policy/filter-calls.def"
        {"fchmod", "file-metadata", EPERM},
        {"fchown", "file-metadata", EPERM},
        {"fremovexattr", "file-metadata", EPERM},
        {"open", "set-user-id", EPERM},
        {"openat", "set-user-id", EPERM},
        {"creat", "set-user-id", EPERM},
        {"mknod", "devices", EPERM},
        {"mknodat", "devices", EPERM},
        {"mmap", "huge-pages", EPERM},
        {"flock", "locks", EPERM},
        {"inotify_init", "file-watch", EPERM},
        {"inotify_init1", "file-watch", EPERM},
        {"inotify_add_watch", "file-watch", EPERM},
        {"madvise", "merged-memory", EINVAL},
        {"clone", "process-kind", EPERM},
        {"close_range", "process-kind", EPERM},
        {"socket", "sockets", EACCES},
        {"socketpair", "sockets", EACCES},
        {"connect", "network", EACCES, WITH_CONNECT},
        {"bind", "network", EACCES, WITH_HOST},
        {"listen", "network", EACCES, WITH_HOST},
        {"accept", "network", EACCES, WITH_HOST},
        {"accept4", "network", EACCES, WITH_HOST},
        {"sendto", "network", EACCES, WITH_HOST},
        {"sendmsg", "network", EACCES, WITH_HOST},
        {"sendmmsg", "network", EACCES, WITH_HOST},
        {"setsockopt", "socket-options", ENOPROTOOPT},
        {"ioctl", "device-control", EPERM},
        {"fcntl", "file-leases", EPERM},
        {"prctl", "process-attributes", EPERM},
        {"personality", "process-attributes", EPERM},
        /* a rule keeps a deleted file's data; and 65,536 ports are uncounted memory */
        {"landlock_add_rule", "hidden-files", EOPNOTSUPP},
        /* the answer of a kernel whose Landlock is switched off */
        {"landlock_restrict_self", "hidden-memory", EOPNOTSUPP},
        {"fallocate", "scratch", EOPNOTSUPP}, /* posix_fallocate(3) writes then */
        {"splice", "hidden-memory", EINVAL}, /* programs read and write then */
        {"sendfile", "hidden-memory", EINVAL},
        {"fadvise64", "page-cache", EPERM},
        {"preadv2", "page-cache", EOPNOTSUPP},
        {"pwritev2", "page-cache", EOPNOTSUPP},
        {"seccomp", "nested-listener", EPERM},
        {"setrlimit", "core-files", EPERM},
        {"prlimit64", "core-files", EPERM},
        {"setpriority", "scheduling", EPERM},
        {"ioprio_set", "scheduling", EPERM},
        {"sched_setscheduler", "scheduling", EPERM},
};

/* The name of the call as a static string of the tables; "call" when no table has the name. */
static const char *judge_call_name(int nr) {
        _cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);
        const char *const *found; /* the row begins with the name */

        if (!name)
                return "call";
        found = FILTER_FIND(deny_rows, ARRAY_SIZE(deny_rows), name)
                        ?: FILTER_FIND(filter_rows, n_filter_rows, name)
                        ?: FILTER_FIND(path_rows, ARRAY_SIZE(path_rows), name);
        return found ? *found : "call";
}

static void judge_show_socket(const uint64_t *args, char *out, size_t n) {
        static const struct {
                int family;
                const char *name;
        } families[] = {
                {AF_UNIX, "AF_UNIX"},     {AF_INET, "AF_INET"},   {AF_INET6, "AF_INET6"}, {AF_NETLINK, "AF_NETLINK"},
                {AF_PACKET, "AF_PACKET"}, {AF_VSOCK, "AF_VSOCK"}, {AF_ALG, "AF_ALG"},
        };
        static const char *const types[] = {"0", "SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW", "SOCK_RDM", "SOCK_SEQPACKET"};
        int family = (int)args[0], type = (int)args[1] & 15;
        char number[24];
        const char *name = number;

        snprintf(number, sizeof(number), "family %d", family);
        for (size_t i = 0; i < ARRAY_SIZE(families); i++)
                if (families[i].family == family)
                        name = families[i].name;
        snprintf(out, n, "%s %s protocol %d", name, type < (int)ARRAY_SIZE(types) ? types[type] : "other",
                 (int)args[2]);
}

static void judge_deny(const FilterInput *in, const struct seccomp_data *d, FilterVerdict *v) {
        const DenyRow *row = FILTER_FIND(deny_rows, ARRAY_SIZE(deny_rows), v->operation);
        const char *call = v->operation;
        uint64_t a0 = d->args[0], a1 = d->args[1];

        v->kind = FILTER_DENY;
        v->rule = row ? row->rule : "unknown-call";
        v->error = row ? row->error : ENOSYS;
        v->allow_with = row ? row->allow_with : NULL;
        if (!row) {
                snprintf(v->object, sizeof(v->object), "number %d", d->nr);
        } else if (strcmp(call, "socket") == 0 || strcmp(call, "socketpair") == 0) {
                bool internet = (int)a0 == AF_INET || (int)a0 == AF_INET6,
                     granted = in->network != NETWORK_NONE;

                judge_show_socket((const uint64_t *)d->args, v->object, sizeof(v->object));
                if (internet && ((int)a1 & 15) == SOCK_STREAM && !granted) {
                        v->rule = "network";
                        v->allow_with = WITH_CONNECT;
                } else if (internet && in->network != NETWORK_HOST && !in->loopback) {
                        v->rule = "network";
                        v->allow_with = WITH_HOST;
                } else if ((int)a0 == AF_UNIX && in->tier == TIER_NAMESPACES && in->network == NETWORK_NONE) {
                        v->allow_with = WITH_LOOPBACK;
                }
        } else if (strcmp(call, "clone") == 0) {
                if (a0 & FILTER_CLONE_BAD & ~(uint64_t)(CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT))
                        v->rule = "namespaces";
                snprintf(v->object, sizeof(v->object), "flags 0x%lx", (unsigned long)a0);
        } else if (strcmp(call, "ioctl") == 0) {
                snprintf(v->object, sizeof(v->object), "request 0x%x", (unsigned)a1);
        } else if (strcmp(call, "fcntl") == 0) {
                snprintf(v->object, sizeof(v->object), "command %u", (unsigned)a1);
                if ((int)a1 == F_ADD_SEALS)
                        v->rule = "file-seals";
                else if (((int)a1 & ~3) == F_SET_RW_HINT)
                        v->rule = "file-hints";
                else if ((int)a1 == F_SETPIPE_SZ) {
                        v->rule = "pipe-size";
                        snprintf(v->object, sizeof(v->object), "%u bytes", (unsigned)d->args[2]);
                }
        } else if (strcmp(call, "fadvise64") == 0) {
                snprintf(v->object, sizeof(v->object), "advice %d", (int)d->args[3]);
        } else if (strcmp(call, "preadv2") == 0 || strcmp(call, "pwritev2") == 0) {
                snprintf(v->object, sizeof(v->object), "flags 0x%x", (unsigned)d->args[5]);
        } else if (strcmp(call, "madvise") == 0) {
                snprintf(v->object, sizeof(v->object), "advice %d", (int)d->args[2]);
        } else if (strcmp(call, "prctl") == 0 || strcmp(call, "personality") == 0) {
                snprintf(v->object, sizeof(v->object), "option %u", (unsigned)a0);
        } else if (strcmp(call, "setsockopt") == 0) {
                /* The kernel silently gives a smaller buffer than requested. Programs do not check SO_LINGER. */
                if ((int)a1 == SOL_SOCKET && ((int)d->args[2] == SO_SNDBUF || (int)d->args[2] == SO_LINGER))
                        v->error = 0;
                snprintf(v->object, sizeof(v->object), "level %d option %d", (int)a1, (int)d->args[2]);
        } else if (strcmp(call, "setrlimit") == 0 || strcmp(call, "prlimit64") == 0) {
                unsigned resource = (unsigned)(strcmp(call, "setrlimit") == 0 ? a0 : a1);

                if (resource != 4)
                        v->rule = "limits";
                snprintf(v->object, sizeof(v->object), "limit %u", resource);
        } else if (strcmp(call, "chmod") == 0 || strcmp(call, "fchmod") == 0 || strcmp(call, "fchmodat") == 0) {
                unsigned mode = (unsigned)(strcmp(call, "fchmodat") == 0 ? d->args[2] : a1);

                if (in->tier == TIER_NAMESPACES)
                        v->rule = "set-user-id";
                snprintf(v->object, sizeof(v->object), "mode 0%o", mode);
        }
}

static bool judge_path_writes(const PathRow *p, const uint64_t *args) {
        uint64_t flags;

        if (strcmp(p->call, "open") != 0 && strcmp(p->call, "openat") != 0)
                return p->writes;
        flags = args[p->path + 1];
        return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)));
}

/* Locks and watches are made by the supervisor, on the private files of the region. */
static bool judge_is_made_by_supervisor(const FilterInput *in, const char *call, const uint64_t *args,
                                        FilterVerdict *v) {
        static const int commands[] = {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
        bool locks = strcmp(call, "flock") == 0;

        for (size_t i = 0; i < ARRAY_SIZE(commands) && strcmp(call, "fcntl") == 0; i++)
                locks |= (int)args[1] == commands[i];
        if (locks) {
                v->kind = FILTER_LOCK;
                v->rule = "locks";
        } else if (strcmp(call, "inotify_add_watch") == 0 && in->watches) {
                v->kind = FILTER_WATCH;
                v->rule = "file-watch";
        } else
                return false;
        return true;
}

/* Whether the filter would allow the call if paths and returned memory were not notified. */
static bool judge_allowed_unreported(const FilterInput *in, const PathRow *p, const char *call, unsigned when,
                                     const uint64_t *args) {
        when = (when & ~(unsigned)WHEN_FREES) | WHEN_NO_FREES;
        if (p && p->meta && in->tier == TIER_LANDLOCK)
                return false;
        if (!FILTER_FIND(filter_rows, n_filter_rows, call))
                return p != NULL;
        return filter_rows_allow(call, when | (p ? WHEN_NO_PATHS : 0), args);
}

void filter_judge(const FilterInput *in, const struct seccomp_data *d, FilterVerdict *ret) {
        static const char *const memory[] = {"mmap", "mremap", "mprotect", "pkey_mprotect", NULL};
        static const char *const tasks[] = {"clone", "fork", "vfork", NULL};
        const uint64_t *args = (const uint64_t *)d->args;
        const char *call = judge_call_name(d->nr);
        const PathRow *p = FILTER_FIND(path_rows, ARRAY_SIZE(path_rows), call);
        unsigned when = filter_when(in);
        uint64_t quiet[6]; /* the same call, made private, as shared mappings are notified */

        *ret = (FilterVerdict){.operation = call, .frees = in->notify_frees && filter_call_frees(call)};
        if (judge_is_made_by_supervisor(in, call, args, ret))
                return;
        memcpy(quiet, d->args, sizeof(quiet));
        if (strcmp(call, "mmap") == 0 && (args[3] & MAP_SHARED_VALIDATE) != MAP_PRIVATE) {
                ret->shared = args[3] & MAP_SHARED;
                quiet[3] = (args[3] & ~(uint64_t)MAP_SHARED_VALIDATE) | MAP_PRIVATE;
                args = quiet;
        }
        if (p && in->notify_paths && judge_allowed_unreported(in, p, call, when, args)) {
                ret->kind = FILTER_PATH;
                ret->rule = "paths";
                ret->path_arg = p->path;
                ret->at_call = p->at;
                ret->writes = judge_path_writes(p, args);
                return;
        }
        if (ret->frees && judge_allowed_unreported(in, p, call, when, args)) {
                ret->kind = FILTER_FREE;
                ret->rule = "multipass";
                return;
        }
        if ((in->notify_memory || args == quiet) && word_index(memory, call) >= 0 &&
            filter_rows_allow(call,
                              (when & ~(unsigned)(WHEN_MEMORY_NOTIFIED | WHEN_FREES)) | WHEN_MEMORY_CGROUP |
                                      WHEN_NO_FREES,
                              args)) {
                ret->kind = FILTER_MEMORY;
                ret->rule = "memory";
                snprintf(ret->object, sizeof(ret->object), "%llu bytes",
                         (unsigned long long)(strcmp(call, "mremap") == 0 ? args[2] : args[1]));
                return;
        }
        if (in->notify_tasks && word_index(tasks, call) >= 0 &&
            filter_rows_allow(call, when | WHEN_TASK_CGROUP, args)) {
                ret->kind = FILTER_TASK;
                ret->rule = "processes";
                return;
        }
        if (strcmp(call, "connect") == 0 && (in->network == NETWORK_CONNECT || in->loopback || in->listed)) {
                ret->kind = FILTER_CONNECT;
                ret->rule = "network";
                ret->allow_with = in->loopback || in->network == NETWORK_HOST ? NULL : WITH_CONNECT;
                return;
        }
        if (strcmp(call, "listen") == 0 && in->listed) {
                ret->kind = FILTER_LISTEN;
                ret->rule = "network";
                ret->allow_with = WITH_HOST;
                return;
        }
        judge_deny(in, d, ret);
}
