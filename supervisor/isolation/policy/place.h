/* Runs: supervisor, CLI. Finds the file grant that decides at a path of a region or of the host. Pure, but
 * places_check(). */
#pragma once

#include "policy/grant-types.h"

#include <limits.h>

/* The visible grant at this place of a region: the most specific grant that covers the place. NULL: no grant. */
const FileGrant *place_shows(const FileGrant *files, size_t n, const char *place);
/* Converts a host path, at or below f's source, to a place in the region, and back. False: too long. */
bool place_inside(const FileGrant *f, const char *path, char ret[static PATH_MAX]);
bool place_outside(const FileGrant *f, const char *place, char ret[static PATH_MAX]);

/* The access of a region to a path of the host: 0 nothing, 1 read, 2 write. A place covered by another mount is not
 * visible. Of several grants the most specific source decides, and of equal sources the least access (I-97). */
int place_right(const FileGrant *files, size_t n, const char *path);
/* Paths of the host strictly below `path` at which that right may change, as owned strings. Returns 0 or -ENOMEM. */
int place_edges(const FileGrant *files, size_t n, const char *path, char ***ret);

/* Appends a copy of f; `of`: the source of the grant of which f is a part. Returns 0 or -ENOMEM. */
int place_add(Grant *g, const FileGrant *f);
/* Sorts the mounts: a folder comes before its content, so that mounting in order never hides a mount. */
void place_sort(Grant *g);
/* The last step. A mount below a writable grant could be led elsewhere by renaming a folder above the mount: each
 * folder in between becomes a mount, because a mount cannot be renamed. Sorts. Returns 0 or -ENOMEM. */
int place_pin(Grant *g);

/* Looks at the host: a place below a system folder must be the same path of the host, writable by root only (I-93), and
 * the program's place must stay free. Returns 0, GRANT_E_REFUSED or GRANT_E_USAGE with a message, -errno. */
int places_check(const Grant *g, Diag *reterr);
