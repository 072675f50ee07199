#include "policy/place.h"

#include "base/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The part of `path` behind `root`, with the slash; "" when both are equal. */
static const char *place_rest(const char *path, const char *root) {
        size_t n = strlen(root);

        return n == 1 ? (path[1] ? path : "") : path + n;
}

static bool place_join(const char *root, const char *rest, char ret[static PATH_MAX]) {
        const bool top = root[1] == 0; /* "/" */

        return snprintf(ret, PATH_MAX, "%s%s", top && *rest ? "" : root, rest) < PATH_MAX;
}

/* The most specific grant that covers the place; strictly: grants of the place itself do not count. NULL: no grant. */
static const FileGrant *place_covers(const FileGrant *files, size_t n, const char *place, bool strictly) {
        const FileGrant *best = NULL;

        for (size_t i = 0; i < n; i++)
                if (path_is_under(place, files[i].target) && !(strictly && strcmp(files[i].target, place) == 0) &&
                    (!best || strlen(files[i].target) > strlen(best->target)))
                        best = &files[i];
        return best;
}

const FileGrant *place_shows(const FileGrant *files, size_t n, const char *place) {
        return place_covers(files, n, place, false);
}

bool place_inside(const FileGrant *f, const char *path, char ret[static PATH_MAX]) {
        return place_join(f->target, place_rest(path, f->source), ret);
}

bool place_outside(const FileGrant *f, const char *place, char ret[static PATH_MAX]) {
        return place_join(f->source, place_rest(place, f->target), ret);
}

int place_right(const FileGrant *files, size_t n, const char *path) {
        size_t longest = 0;
        int right = 0;

        for (size_t i = 0; i < n; i++) {
                const FileGrant *f = &files[i];
                const size_t length = strlen(f->source);
                const int has = f->write ? 2 : 1;
                char place[PATH_MAX];

                if (f->mask || length < longest || !path_is_under(path, f->source) || !place_inside(f, path, place) ||
                    place_shows(files, n, place) != f)
                        continue;
                right = length > longest ? has : MIN(right, has);
                longest = length;
        }
        return right;
}

static int place_edge(const char *path, const char *edge, char ***ret) {
        if (strcmp(edge, path) == 0 || !path_is_under(edge, path) || strv_has(*ret, edge))
                return 0;
        return strv_add(ret, edge);
}

int place_edges(const FileGrant *files, size_t n, const char *path, char ***ret) {
        for (size_t i = 0; i < n; i++) {
                const FileGrant *f = &files[i], *covers = place_covers(files, n, f->target, true);
                char hidden[PATH_MAX];
                int r = place_edge(path, f->source, ret);

                if (r == 0 && covers && !covers->mask && place_outside(covers, f->target, hidden))
                        r = place_edge(path, hidden, ret);
                if (r < 0)
                        return r;
        }
        return 0;
}

int place_add(Grant *g, const FileGrant *f) {
        FileGrant *more = reallocarray(g->files, g->n_files + 1, sizeof(*more)), *to;

        if (!more)
                return -ENOMEM;
        g->files = more;
        to = &more[g->n_files];
        *to = (FileGrant){.source = strdup(f->source),
                          .target = strdup(f->target),
                          .write = f->write,
                          .overlay = f->overlay,
                          .mask = f->mask,
                          .of = f->of ? strdup(f->of) : NULL};
        g->n_files++;
        return to->source && to->target && (!f->of || to->of) ? 0 : -ENOMEM;
}

/* Adds a pin for each folder between the writable grant `above` and the place `target`. */
static int place_pin_above(Grant *g, const FileGrant *above, const char *target) {
        const char *of = above->of ?: above->source;
        char place[PATH_MAX], source[PATH_MAX];
        size_t from = strlen(above->target);
        int r = 0;

        for (size_t n = from + 1; r == 0 && target[n]; n++) {
                FileGrant pin = {.source = source, .target = place, .write = true, .of = (char *)of};

                if (target[n] != '/' || n >= sizeof(place))
                        continue;
                memcpy(place, target, n);
                place[n] = 0;
                if (!place_outside(above, place, source))
                        return -ENAMETOOLONG;
                r = place_add(g, &pin);
        }
        return r;
}

static int place_by_target(const void *a, const void *b) {
        return strcmp(((const FileGrant *)a)->target, ((const FileGrant *)b)->target);
}

void place_sort(Grant *g) {
        if (g->n_files > 1)
                qsort(g->files, g->n_files, sizeof(*g->files), place_by_target);
}

int place_pin(Grant *g) {
        int r = 0;

        /* A pin is a writable grant too, and has no further folders in between: each pair is handled once. */
        for (size_t i = 0; r == 0 && i < g->n_files; i++) {
                const FileGrant *above = place_covers(g->files, g->n_files, g->files[i].target, true);

                if (above && above->write) {
                        const FileGrant copy = *above; /* the list grows */

                        r = place_pin_above(g, &copy, g->files[i].target);
                }
        }
        if (r == 0)
                place_sort(g);
        return r;
}

/* Checks a place below a system folder: the same path of the host, read-only, and writable by root only. */
static int place_check_system(const FileGrant *f, Diag *reterr) {
        _cleanup_free_ char *real = NULL;
        const char *end = strchr(f->target + 1, '/');
        char top[16], why[sizeof(((Diag *)NULL)->text)];
        struct stat st;
        Diag d = {0};
        int r;

        snprintf(top, sizeof(top), "%.*s", (int)(end ? end - f->target : (ptrdiff_t)strlen(f->target)), f->target);
        if (lstat(top, &st) == 0 && S_ISLNK(st.st_mode))
                return diag(reterr, GRANT_E_REFUSED, "place %s: %s is a symbolic link; name the place that it leads to",
                            f->target, top);
        real = realpath(f->target, NULL);
        if (!real && errno == ENOMEM)
                return -ENOMEM;
        r = owner_check(f->target, OWNER_ROOT_ALONE, &d);
        if (r < 0)
                return r;
        snprintf(why, sizeof(why), "%s",
                 r > 0                                   ? d.text
                 : f->write                              ? "it is to be written"
                 : !real || strcmp(real, f->source) != 0 ? "it is not the place of that path on the host"
                                                         : "");
        if (*why == 0)
                return 0;
        return diag(reterr, GRANT_E_REFUSED,
                    "place %s for %s: below a system folder there are only paths of the host's that root alone can "
                    "write, read-only and at their own place; %s",
                    f->target, f->source, why);
}

int places_check(const Grant *g, Diag *reterr) {
        for (size_t i = 0; i < g->n_files; i++) {
                const FileGrant *f = &g->files[i];
                int r = !f->mask && path_is_system(f->target) ? place_check_system(f, reterr) : 0;

                if (r == 0 && !g->program_granted &&
                    ((g->program && path_is_under(f->target, g->program)) ||
                     (g->program_link && path_is_under(f->target, g->program_link))))
                        r = diag(reterr, GRANT_E_USAGE, "place %s for %s: the program of --exec is there", f->target,
                                 f->source);
                if (r != 0)
                        return r;
        }
        return 0;
}
