/* Runs: CLI, supervisor. Finds the program of `lethe run --exec`.
 *
 * PATH is a path of the region first: of a granted file or folder, or of a system folder; a relative one begins at the working folder. A path that is not
 * there is one of the host, and the program is bound at that path. Links are followed to look at the file, which is hashed; the program is started by the
 * path that was named.
 *
 * A program of a system folder that only root can write, itself and every folder above it, is run where it is: what was hashed can be changed by root alone,
 * who can change Lethe as well. Of any other program a region is given a copy in the store (manifest/copy.h), at the path of the program: root's own folders,
 * too, may be granted to another region, which writes there as root. Links, and folders of a grant, that others can change may lead elsewhere by then: `loose`
 * says so. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "manifest/bundle.h"
#include "manifest/vocabulary.h"

extern int program_settled_sec; /* how long ago the last change must be for a digest to be remembered; tests change it */

typedef struct Program {
        char *path;      /* as it is called in the region: argv[0] */
        char *link;      /* the region is given a link at `path`: where it leads; NULL: none */
        char *host;      /* the file on the host, without links */
        char *real;      /* where its copy is bound; NULL: it is run where it is */
        char *copy;      /* what is bound there: its copy in the store; NULL: there is none yet, or no store */
        char *note;      /* a word for the user, or NULL */
        bool granted;    /* it lies in a file or folder that is granted */
        bool loose;      /* a link or folder on the way can be changed by others than root */
        bool link_loose; /* the same of the links of the host for which the region is given `link` */
        char digest[DIGEST_TEXT_MAX];
} Program;
void program_deinit(Program *p);
#define _cleanup_program_ _cleanup_(program_deinit)

/* The places that the region sees besides the system folders. */
typedef struct ProgramView {
        const FileGrant *files;
        size_t n_files;
        const char *workdir; /* NULL: REGION_WORK_DIR */
} ProgramView;

/* A name without a slash is searched in the PATH of a region. The digest is of the file's content; of a large one that only root can write it is remembered in
 * the cache of the store at store_dir (NULL: none). Returns 0, REQUEST_E_NOT_FOUND, REQUEST_E_NOT_EXECUTABLE, REQUEST_E_SOURCE, REQUEST_E_BAD, -errno. */
int program_find(const char *program, const ProgramView *view, const char *store_dir, Program *ret, Diag *reterr);
/* Makes p->copy: digest and copy are of the bytes that were copied. Returns as program_find(). */
int program_copy(Program *p, const char *store_dir, Diag *reterr);
