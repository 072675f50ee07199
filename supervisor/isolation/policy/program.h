/* Runs: CLI, supervisor. Finds the program of `lethe run --exec`.
 *
 * PATH is first a path of the region: of a granted file or folder, or of a system folder; a relative path begins at the
 * working folder. A path that the region lacks is a path of the host, and the program is bound at that path. Links are
 * followed to the file that is hashed; the program is started by the named path.
 *
 * A program of a system folder is run in place when only root can write the file and every folder above: only root can
 * change the hashed file, and root can change Lethe as well. A region gets a copy of any other program, from the store
 * (manifest/copy.h), at the program's path: even root's own folders may be granted to another region, which writes
 * there as root. Links and granted folders that other users can change may lead elsewhere later: `loose` records
 * this. */
#pragma once

#include "manifest/bundle.h"
#include "manifest/vocabulary.h"

enum {
        REQUEST_E_BAD = 1,   /* usage: message has the option, the value and the rule */
        REQUEST_E_SOURCE,    /* the source of a mount does not exist */
        REQUEST_E_NOT_FOUND, /* --exec: no such program; exit code 127 */
        REQUEST_E_NOT_EXECUTABLE, /* --exec: not executable or not a regular file; exit code 126 */
};

extern int program_settled_sec; /* least age of the last change for a remembered digest; tests change the value */

typedef struct Program {
        char *path;      /* path in the region: argv[0] */
        char *link;      /* target of the link that the region gets at `path`; NULL: no link */
        char *host;      /* the file on the host, without links */
        char *real;      /* place of the program's copy; NULL: the program is run in place */
        char *copy;      /* the program's copy in the store; NULL: no copy yet, or no store */
        char *note;      /* a note for the user, or NULL */
        bool granted;    /* the file lies in a granted file or folder */
        bool loose;      /* users other than root can change a link or folder on the path */
        bool link_loose; /* the same for the host's links that `link` replaces */
        char digest[DIGEST_TEXT_MAX];
} Program;
void program_deinit(Program *p);
#define _cleanup_program_ _cleanup_(program_deinit)

/* The region's places besides the system folders. */
typedef struct ProgramView {
        const FileGrant *files;
        size_t n_files;
        const char *workdir; /* NULL: REGION_WORK_DIR */
} ProgramView;

/* A name without a slash is searched in the PATH of a region. The digest is of the file's content. The digest of a
 * large file that only root can write is remembered in the cache of the store at store_dir (NULL: no cache). Returns 0,
 * REQUEST_E_NOT_FOUND, REQUEST_E_NOT_EXECUTABLE, REQUEST_E_SOURCE, REQUEST_E_BAD, -errno. */
int program_find(const char *program, const ProgramView *view, const char *store_dir, Program *ret, Diag *reterr);
/* Makes p->copy: digest and copy are of the copied bytes. Returns as program_find(). */
int program_copy(Program *p, const char *store_dir, Diag *reterr);
