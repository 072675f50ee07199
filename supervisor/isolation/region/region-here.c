/* Runs: supervisor. A hint after the region's end: the first file that the program looked for, or was given as an
 * argument, and only the caller's working folder on the host has. */
#include "base/diag.h"
#include "policy/place.h"
#include "region/region-host-lookup.h"
#include "region/region.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HERE_LOOK_USEC 50000 /* for all files together */
#define HERE_ARGUMENTS_MAX 16

/* The file `rest` of the caller's folder. */
static bool here_has(Region *r, HostLook *look, const char *rest) {
        char path[PATH_MAX];

        rest += strspn(rest, "/");
        if (!*rest || snprintf(path, sizeof(path), "%s/%s", r->grant->caller_dir, rest) >= (int)sizeof(path) ||
            host_look(look, path) != HOST_HAS)
                return false;
        snprintf(r->here, sizeof(r->here), "%s", DIAG_QUOTED(rest));
        return true;
}

/* A path that a call named: in the caller's folder, or in the region's working folder, where a relative path begins. */
static bool here_has_path(Region *r, HostLook *look, const char *path) {
        const char *const folders[] = {r->grant->caller_dir, r->grant->workdir};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (path_is_under(path, folders[i]) && here_has(r, look, path + strlen(folders[i])))
                        return true;
        return false;
}

static bool here_has_argument(Region *r, HostLook *look, const char *argument) {
        if (*argument == '/')
                return path_is_under(argument, r->grant->caller_dir) && here_has_path(r, look, argument);
        while (strncmp(argument, "./", 2) == 0)
                argument += 2;
        return *argument && *argument != '-' && !path_has_dots(argument) && here_has(r, look, argument);
}

void region_find_here(Region *r) {
        const Grant *g = r->grant;
        const RegionOutside *o = &r->notify.outside;
        HostLook look;
        bool found = false;
        Diag d;

        if (!g->caller_dir || (r->outcome == OUTCOME_EXITED && r->status == 0) || r->callback || *r->parent ||
            path_target_check(g->caller_dir, false, &d) != 0 || place_shows(g->files, g->n_files, g->caller_dir))
                return;
        host_look_begin(&look, HERE_LOOK_USEC);
        for (size_t i = 0; i < o->n && !found; i++)
                found = !o->v[i].writes && here_has_path(r, &look, o->v[i].path);
        /* a program that only asks for a file's state is not seen */
        for (size_t i = 1; g->argv[0] && i <= HERE_ARGUMENTS_MAX && g->argv[i] && !found; i++)
                found = here_has_argument(r, &look, g->argv[i]);
        host_look_end(&look);
}
