/* Runs: supervisor, CLI. Standard output and error of a detached region, kept in the store's folder, mode 0600:
 *
 *  STORE/output/REGION/supervisor   number of the supervisor's lock (store_lock_is_free()); 1: with a terminal, else 0
 *  STORE/output/REGION/ended        empty: no more output comes
 *  STORE/output/REGION/N            a segment, N = 1, 2, 3 …; the oldest is overwritten and removed beyond the bound
 *
 * A segment is an OutputHead and frames: an OutputFrame and its bytes. Bytes are the region's, and hostile; numbers are
 * the supervisor's. The files stay until the output is dropped: they are overwritten then. */
#pragma once

#include "base/diag.h"
#include "base/id.h"
#include "base/util.h"
#include "policy/policy-types.h"

#include <sys/types.h>

#define OUTPUT_SEGMENT (1024 * 1024)    /* bytes of a segment */
#define OUTPUT_SEGMENTS_MAX 16          /* kept of a region */
#define OUTPUT_FRAME_MAX (64 * 1024)    /* bytes behind an OutputFrame */

enum {
        OUTPUT_E_NONE = 1, /* no output of the region is kept */
        OUTPUT_E_DAMAGED,  /* a file is not what a supervisor writes */
};

typedef enum OutputKind {
        OUTPUT_OUT = 1, /* standard output, or all output of a terminal */
        OUTPUT_ERR,
        OUTPUT_LOST, /* no bytes; `lost` bytes are not kept: the disk had no room */
        OUTPUT_END,  /* no bytes; no frame follows in any segment */
} OutputKind;

typedef struct OutputHead {
        char magic[16];  /* OUTPUT_MAGIC */
        uint64_t before; /* bytes of output in all segments before */
} OutputHead;
#define OUTPUT_MAGIC "lethe-output 1\n"

typedef struct OutputFrame {
        uint32_t kind, n;
        uint64_t usec; /* CLOCK_REALTIME */
        uint64_t lost;
} OutputFrame;

typedef struct OutputWriter OutputWriter;
/* Makes the folder. lock: of the supervisor. Returns 0 or -errno. */
int output_begin(const char *store_dir, const char *region, uint64_t lock, bool terminal, OutputWriter **ret);
/* Waits for nothing but the store's disk. Bytes without room are counted, and the count is kept when there is room. */
void output_add(OutputWriter *w, OutputKind kind, const char *bytes, size_t n);
/* Writes the end, and frees the writer. NULL: nothing. */
void output_end(OutputWriter *w);

typedef struct OutputReader {
        int folder, fd;      /* owned, or -1 */
        uint64_t segment;    /* of fd */
        uint64_t at;         /* bytes of the segment that are taken */
        uint64_t seen;       /* bytes of output so far, with those that are gone */
        uint64_t gap;        /* bytes that are gone and not told yet */
        uint64_t supervisor; /* number of the lock */
        bool ended, terminal;
        char *bytes;         /* owned */
} OutputReader;
#define OUTPUT_READER_NULL ((OutputReader){.folder = -1, .fd = -1})

/* The output was dropped since output_open(). */
bool output_is_gone(const OutputReader *r);
/* The writer has come to its end. */
bool output_is_over(const OutputReader *r);

typedef struct OutputPiece {
        OutputFrame frame;
        const char *bytes; /* borrowed until the next call */
        uint64_t dropped;  /* bytes before the piece that the bound took away meanwhile */
} OutputPiece;

/* Returns 0, OUTPUT_E_NONE, OUTPUT_E_DAMAGED, -errno. */
int output_open(const char *store_dir, const char *region, OutputReader *ret);
/* Takes the next piece. Returns 1, 0 when there is none yet (at the end: r->ended is set), OUTPUT_E_DAMAGED + 1, -errno. */
int output_next(OutputReader *r, OutputPiece *ret);
#define OUTPUT_NEXT_DAMAGED (OUTPUT_E_DAMAGED + 1)
void output_close(OutputReader *r);
#define _cleanup_output_ _cleanup_(output_close)

/* Overwrites and removes the kept output. Returns 0, OUTPUT_E_NONE, -errno. */
int output_drop(const char *store_dir, const char *region);
/* The output of the region that began last; "": none. Returns 0 or -errno. */
int output_newest(const char *store_dir, char ret[static REGION_ID_MAX]);
/* Drops the oldest outputs beyond the policy (kept_surplus()), but for those of living regions: not at their end, and of
 * a supervisor whose lock is not free (is_free() of its number). Returns 0 or -errno. */
int output_trim(const char *store_dir, const KeepPolicy *policy, bool (*is_free)(void *userdata, uint64_t lock),
                void *userdata);
