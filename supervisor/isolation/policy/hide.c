#include "policy/hide.h"

#include "policy/place.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Whether another hidden folder covers the path. */
static bool hide_within(const Hidden *all, size_t n, const Hidden *h) {
        for (size_t i = 0; i < n; i++)
                if (&all[i] != h && all[i].folder && !all[i].absent && strcmp(all[i].path, h->path) != 0 &&
                    path_is_under(h->path, all[i].path))
                        return true;
        return false;
}

static int hide_one(Grant *g, size_t at, const Hidden *all, size_t n, const Hidden *h, Diag *reterr) {
        const FileGrant *f = &g->files[at];
        FileGrant mask = {.source = h->path, .mask = true};
        char place[PATH_MAX];

        if (path_is_under(f->source, h->path) && !h->absent)
                return diag(reterr, GRANT_E_REFUSED,
                            "%s at %s: %s is %s, and no region is shown the path; name a folder outside of the path",
                            f->source, f->target, h->path, h->what);
        if (!path_is_under(h->path, f->source) || hide_within(all, n, h))
                return 0;
        if (!place_inside(f, h->path, place))
                return -ENAMETOOLONG;
        if (place_shows(g->files, g->n_files, place) != f) /* another mount is there, or the path is hidden already */
                return 0;
        if (h->absent && !f->write && !h->secret)
                return 0;
        if (h->absent)
                return diag(reterr, GRANT_E_REFUSED,
                            "%s at %s: %s would be %s: no region is shown the path, and a missing path cannot be "
                            "hidden; fix: %s %s, or name a folder that is not above the path",
                            f->source, f->target, h->path, h->what,
                            h->secret ? "make the store there first: lethe run --exec true --store" : "mkdir -p",
                            h->path);
        if (!h->folder)
                return diag(reterr, GRANT_E_REFUSED,
                            "%s at %s: %s is %s, and no region is shown the file; fix: move the file into a folder of "
                            "its own without a grant, or name a folder that is not above the file",
                            f->source, f->target, h->path, h->what);
        mask.target = place;
        return place_add(g, &mask);
}

int grant_hide(Grant *g, const Hidden *hidden, size_t n, Diag *reterr) {
        const size_t n_files = g->n_files;

        for (size_t k = 0; k < n; k++) {
                const Hidden *h = &hidden[k];

                if (g->skill_dir && !h->skill && !h->absent && path_is_under(h->path, g->skill_dir))
                        return diag(reterr, GRANT_E_REFUSED,
                                    "the skill's folder %s shows %s, %s: no region is shown the path; move the skill "
                                    "into a folder of its own",
                                    g->skill_dir, h->path, h->what);
                for (size_t i = 0; i < n_files; i++) {
                        int r = g->files[i].mask ? 0 : hide_one(g, i, hidden, n, h, reterr);

                        if (r != 0)
                                return r;
                }
        }
        return 0;
}
