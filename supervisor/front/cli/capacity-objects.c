#include "cli/capacity-objects.h"

#include "region/region-locks.h"
#include "region/region-proc.h"
#include "schema/limits.h"
#include "spawn/probe.h"
#include "spawn/uids.h"

#include <sys/resource.h>
#include <unistd.h>

static uint64_t objects_file(const char *path) {
        char text[32];

        return (proc_read(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0) ?: OBJECTS_ANY; /* 0: no limit */
}

static uint64_t objects_sysctl(const char *name) {
        uint64_t n = probe_user_limit(name);

        return n > 0 ? n : OBJECTS_ANY;
}

static uint64_t objects_rlimit(int resource) {
        struct rlimit r;

        return getrlimit(resource, &r) < 0 || r.rlim_cur == RLIM_INFINITY ? OBJECTS_ANY : (uint64_t)r.rlim_cur;
}

static void objects_add(Objects *o, const char *object, const char *limit, uint64_t each, uint64_t user) {
        uint64_t regions = OBJECTS_ANY;

        if (each != OBJECTS_ANY && each > 0 && user != OBJECTS_ANY && (!o->own_users || user < each))
                regions = user / each;
        o->rows[o->n++] = (ObjectRow){object, limit, each, user, regions};
        o->regions = MIN(o->regions, regions);
}

void objects_measure(const Policy *p, Objects *ret) {
        uint32_t uid = 0;
        Diag d = {0};

        *ret = (Objects){.regions = OBJECTS_ANY};
        if (geteuid() == 0 && uids_take(&p->region_uids, &uid, &d) == 0 && uid > 0) {
                uids_give(uid);
                ret->own_users = true;
                ret->regions = p->region_uids.count ?: UIDS_STANDARD_COUNT;
                ret->rows[ret->n++] = (ObjectRow){"users", "region_uids", 1, ret->regions, ret->regions};
        }
        objects_add(ret, "inotify_instances", "user.max_inotify_instances", REGION_INOTIFY_INSTANCES, objects_sysctl("max_inotify_instances"));
        objects_add(ret, "inotify_watches", "user.max_inotify_watches", REGION_INOTIFY_WATCHES, objects_sysctl("max_inotify_watches"));
        objects_add(ret, "signals_and_timers", "RLIMIT_SIGPENDING", REGION_SIGNALS_PENDING, objects_rlimit(RLIMIT_SIGPENDING));
        objects_add(ret, "locked_ranges", "", LOCK_RANGES_MAX, OBJECTS_ANY);
        objects_add(ret, "message_queues", "", 0, OBJECTS_ANY);
        objects_add(ret, "pipe_pages", "fs.pipe-user-pages-soft", OBJECTS_ANY, objects_file("/proc/sys/fs/pipe-user-pages-soft"));
        objects_add(ret, "epoll_watches", "fs.epoll.max_user_watches", OBJECTS_ANY, objects_file("/proc/sys/fs/epoll/max_user_watches"));
        objects_add(ret, "descriptors_sent", "RLIMIT_NOFILE of who sends", OBJECTS_ANY, OBJECTS_ANY);
}
