/* Runs: supervisor. Plans the folders of a region's control groups. */
#include "region/region-cgroup-private.h"

#include "base/io.h"
#include "region/region-cgroup-home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The folder of a new group `name` below the group of this process; *ret stays NULL when the group cannot be made. */
static int plan_folder(const char *root, const char *hierarchy, const char *self, const char *controller,
                       const char *region, char **ret) {
        _cleanup_free_ char *own = group_of_self(self, controller), *dir = NULL;

        if (!own)
                return 0;
        if (!(dir = text_printf("%s%s%s", root, hierarchy, own[0] == '/' && own[1] ? own : "")))
                return -ENOMEM;
        if (group_is_leaf(dir))
                *strrchr(dir, '/') = 0;
        if (access(dir, W_OK) < 0)
                return 0;
        return (*ret = text_printf("%s/" CGROUP_NAME "%s", dir, region)) ? 0 : -ENOMEM;
}

/* Version 2: true when the group hands its controllers to children, or accepts the setting now. The kernel refuses
 * while processes are in the group, except for the root: home_settle() has moved this process out. */
static bool plan_v2_can_divide(const char *own_dir) {
        char given[512];

        if (!group_has_controllers(own_dir))
                return false;
        if (group_read(own_dir, "cgroup.subtree_control", given, sizeof(given)) == 0 &&
            group_has_word(given, "memory") && group_has_word(given, "pids"))
                return true;
        return group_write(own_dir, "cgroup.subtree_control", "+memory +pids") == 0;
}

int region_cgroup_plan(const char *root, const char *self, const char *region, RegionCgroup *ret) {
        _cleanup_free_ char *dir = NULL;
        char path[PATH_MAX];
        int e;

        *ret = REGION_CGROUP_NULL;
        snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
        if (access(path, F_OK) == 0) {
                e = plan_folder(root, "", self, "", region, &dir);
                if (e < 0 || !dir)
                        return e;
                *strrchr(dir, '/') = 0;
                if (!plan_v2_can_divide(dir))
                        return 0;
                dir[strlen(dir)] = '/';
                ret->v2 = true;
                ret->memory = strdup(dir);
                ret->pids = strdup(dir);
                ret->cpu = strdup(dir);
                if (ret->memory && ret->pids && ret->cpu)
                        return 0;
                region_cgroup_deinit(ret);
                return -ENOMEM;
        }
        if ((e = plan_folder(root, "/memory", self, "memory", region, &ret->memory)) < 0 ||
            (e = plan_folder(root, "/pids", self, "pids", region, &ret->pids)) < 0 ||
            (e = plan_folder(root, "/cpuacct", self, "cpuacct", region, &ret->cpu)) < 0)
                region_cgroup_deinit(ret);
        return e;
}

int region_cgroup_plan_here(const char *region, RegionCgroup *ret) {
        _cleanup_free_ char *self = NULL;
        size_t n;

        *ret = REGION_CGROUP_NULL;
        home_settle(NULL);
        if (io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &self, &n) < 0)
                return 0;
        return region_cgroup_plan(CGROUP_ROOT, self, region, ret);
}

/* Version 2: the controller is on for the children of dir. */
static bool plan_v2_has_cpu(const char *dir) {
        char text[512];

        if (group_read(dir, "cgroup.controllers", text, sizeof(text)) < 0 || !group_has_word(text, "cpu"))
                return false;
        if (group_read(dir, "cgroup.subtree_control", text, sizeof(text)) == 0 && group_has_word(text, "cpu"))
                return true;
        return group_write(dir, "cgroup.subtree_control", "+cpu") == 0;
}

/* Version 1: both controllers may be of a single hierarchy. */
static bool plan_is_one_hierarchy(const char *self) {
        return strstr(self, ":cpu,cpuacct:") || strstr(self, ":cpuacct,cpu:");
}

int region_cgroup_plan_quota(const char *root, const char *self, const char *region, RegionCgroup *c) {
        char above[PATH_MAX];

        if (c->v2) {
                if (!group_above(c->memory, above) || !plan_v2_has_cpu(above))
                        return 0;
                return (c->quota = strdup(c->memory)) ? 0 : -ENOMEM;
        }
        if (plan_is_one_hierarchy(self))
                return !c->cpu || (c->quota = strdup(c->cpu)) ? 0 : -ENOMEM;
        return plan_folder(root, "/cpu", self, "cpu", region, &c->quota);
}

int region_cgroup_plan_quota_here(const char *region, RegionCgroup *c) {
        _cleanup_free_ char *self = NULL;
        size_t n;

        if (io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &self, &n) < 0)
                return 0;
        return region_cgroup_plan_quota(CGROUP_ROOT, self, region, c);
}

bool region_cgroup_any(const RegionCgroup *c) {
        return c->memory || c->pids || c->cpu || c->quota;
}

char *region_cgroup_text(const RegionCgroup *c, int *reterr) {
        char *s = group_join(c, false);

        *reterr = !s && region_cgroup_any(c) ? -ENOMEM : 0;
        return s;
}
