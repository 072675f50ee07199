/* Runs: supervisor, CLI. Which file grant decides at a path: of the places in a region, and of paths of the host. Pure, but for places_check(). */
#pragma once

#include "policy/grant.h"

#include <limits.h>

/* The grant that is mounted last at this place of a region, and so is seen there: the most specific one. NULL: none of them. */
const FileGrant *place_shows(const FileGrant *files, size_t n, const char *place);
/* The same without `but`: what it covers there. */
const FileGrant *place_below(const FileGrant *files, size_t n, const FileGrant *but);
/* The path of the host `path`, at or below f's source, is at this place of a region; and back. False: longer than a path can be. */
bool place_inside(const FileGrant *f, const char *path, char ret[static PATH_MAX]);
bool place_outside(const FileGrant *f, const char *place, char ret[static PATH_MAX]);

/* The access that these grants give a region to a path of the host: 0 nothing, 1 read, 2 write. Where another grant is mounted over its place it is not
 * seen; of several the one with the most specific source decides, and of these the least (I-97). */
int place_right(const FileGrant *files, size_t n, const char *path);
/* Paths of the host strictly below `path` at which that right may change, as owned strings. Returns 0 or -ENOMEM. */
int place_edges(const FileGrant *files, size_t n, const char *path, char ***ret);

/* Adds a grant; what is a part of another one has that one's source in `of`. Returns 0 or -ENOMEM. */
int place_add(Grant *g, const FileGrant *f);
/* At the end: a mount below a writable grant could be led elsewhere by renaming a folder above it. Each folder in between becomes a mount of its own, which
 * cannot be renamed. Sorts: a folder comes before what lies in it. Returns 0 or -ENOMEM. */
int place_pin(Grant *g);

/* Looks at the host: a place below a system folder is that of a path that only root can write (I-93), and none is that of the program. Returns 0,
 * GRANT_E_REFUSED or GRANT_E_USAGE with a message, -errno. */
int places_check(const Grant *g, Diag *reterr);
