/* Runs: supervisor, CLI. The terms of manifest, policy and grant: enumerations, budgets, grants, names. Plain data. */
#pragma once

#include "base/id.h"
#include "base/json.h"

#include <stdarg.h>

typedef enum Tier {
        TIER_LANDLOCK = 1,   /* Landlock + seccomp + rlimits, no namespaces */
        TIER_NAMESPACES = 2, /* Landlock + seccomp + rlimits + namespaces */
} Tier;
extern const char *const tier_words[]; /* by Tier, from TIER_LANDLOCK on; NULL-terminated, as all such lists */
const char *tier_name(Tier t);

typedef struct Budget {
        uint64_t memory_bytes;  /* whole tree, scratch included */
        uint64_t wall_usec;
        uint64_t cpu_usec;      /* whole tree, user + system */
        uint64_t processes;     /* tasks: processes and threads of the skill */
        uint64_t open_files;    /* of each process */
        uint64_t file_bytes;    /* largest single file */
        uint64_t scratch_bytes; /* /work and /tmp together */
        uint64_t output_bytes;  /* standard output and error together */
        uint64_t idle_usec;     /* longest time without reading, writing or computing */
        uint64_t cpus_milli;    /* share of processors: thousandths of a processor; 0 is BUDGET_NONE */
} Budget;

/* A budget without limit: "none". The largest value of a record, so that the lesser of two budgets always applies. */
#define BUDGET_NONE ((UINT64_C(1) << 53) - 1)

/* A row for each member of Budget: the only list of names, units, defaults and bounds. Value 0: not given. */
typedef enum BudgetUnit { UNIT_BYTES, UNIT_USEC, UNIT_COUNT, UNIT_MILLI } BudgetUnit;
typedef struct BudgetField {
        const char *name;   /* in lethe.json "budgets" and in policy "max" */
        const char *option; /* of `lethe run`, without dashes */
        BudgetUnit unit;
        size_t offset;      /* of the uint64_t in Budget */
        uint64_t least, standard, most;
        bool may_be_none;
} BudgetField;
#define BUDGET_FIELDS 10
extern const BudgetField budget_fields[BUDGET_FIELDS];
static inline uint64_t *budget_at(Budget *b, const BudgetField *f) {
        return (uint64_t *)((char *)b + f->offset);
}
static inline uint64_t budget_get(const Budget *b, const BudgetField *f) {
        return *(const uint64_t *)((const char *)b + f->offset);
}
Budget budget_most(void);

enum { TERMS_E_BAD = 1 }; /* the text is refused: message has the value and the rule */

/* A budget value in a document or on a command line: sizes "128m" or bytes, times "30s" or seconds, counts, and
 * numbers with up to three decimals. */
int budget_parse(const BudgetField *f, const char *text, uint64_t *ret, Diag *reterr);
int budget_parse_json(const BudgetField *f, const json_t *value, uint64_t *ret, Diag *reterr);
#define BUDGET_KEY_MAX 32
const char *budget_key(const BudgetField *f, char out[static BUDGET_KEY_MAX]); /* in a record: "memory_bytes" */
#define BUDGET_TEXT_MAX 48
const char *budget_format(const BudgetField *f, uint64_t v, char out[static BUDGET_TEXT_MAX]);

typedef struct FileGrant {
        char *source;  /* absolute path on the host, symlinks resolved */
        char *target;  /* absolute path in the region, normalised */
        bool write;
        bool overlay;  /* the region writes into a layer of its own; the source is only read */
        bool mask;     /* the source is hidden: an empty folder stands at the target */
        char *of; /* source of the grant that this mount is a part of; NULL: a separate grant */
} FileGrant;
void file_grants_free(FileGrant *g, size_t n);

typedef enum NetworkMode {
        NETWORK_NONE = 0, /* no socket but socketpair */
        NETWORK_LOOPBACK, /* a separate network namespace with lo: TCP, UDP and AF_UNIX within the region */
        NETWORK_CONNECT,  /* TCP to the listed addresses only, each connect made by the supervisor */
        NETWORK_HOST,     /* the host's network, only when policy allows it */
} NetworkMode;
extern const char *const network_words[]; /* by NetworkMode */
/* Also takes "private", an older word for loopback. Returns a NetworkMode or -1. */
int network_parse(const char *word);

typedef struct NetGrant {
        char *text;      /* as written: "127.0.0.1:8080", "[::1]:443" */
        int family;      /* AF_INET, AF_INET6 */
        uint8_t addr[16];
        uint16_t port;
} NetGrant;
void net_grants_free(NetGrant *g, size_t n);
/* "127.0.0.1:8080" or "[::1]:443": an address, never a name, because a name may mean another machine later. */
int net_parse(const char *text, NetGrant *ret, Diag *reterr);
bool net_same(const NetGrant *a, const NetGrant *b); /* family, address and port */

typedef enum DenialMode { DENIAL_CONTINUE = 0, DENIAL_END } DenialMode;

/* How the bytes of a region are overwritten before the kernel gets them back (I-29..I-32). */
typedef enum Discipline {
        DISCIPLINE_ZERO = 0,  /* bytes held at the end are overwritten once, with zeros, and read back */
        DISCIPLINE_MULTIPASS, /* several passes, also over memory that the region gives back during the run */
        DISCIPLINE_NONE,      /* no overwriting: only for a skill that the policy calls trusted */
} Discipline;
#define PASSES_STANDARD 3     /* of multipass: 0x00, 0xFF, random; more begin again with 0x00 */
#define PASSES_MOST 16
const char *discipline_name(Discipline d); /* "zero", "multipass", "none" */
/* "zero", "none", "multipass" or "multipass:N" with N from 1 to PASSES_MOST. *ret_passes: 1, 0, PASSES_STANDARD, N. */
int discipline_parse(const char *text, Discipline *ret, unsigned *ret_passes, Diag *reterr);
/* In the form of a manifest: "zero", "multipass:3". Returns out. */
#define DISCIPLINE_TEXT_MAX 32
const char *discipline_format(Discipline d, unsigned passes, char out[static DISCIPLINE_TEXT_MAX]);
/* 0: none, 1: zero, N + 1: multipass:N. A greater strength leaves less behind. */
unsigned discipline_strength(Discipline d, unsigned passes);
Discipline discipline_of_strength(uint64_t strength, unsigned *ret_passes);

/* How much of a region's life is recorded (I-36..I-38); the region's acts do not change. */
typedef enum LineageDetail { LINEAGE_EVENTS = 0, LINEAGE_STATS, LINEAGE_HANDLES } LineageDetail;
const char *lineage_name(LineageDetail l); /* "events", "stats", "handles" */

/* The holders that may present a region's key (I-26..I-28). */
typedef enum KeyScope { KEY_SCOPE_INVOCATION = 0, KEY_SCOPE_TREE } KeyScope;
extern const char *const key_scope_words[];

/* Bounds of the time between a cancel and the end of the whole region. */
#define CANCEL_BOUND_LEAST_USEC 10000
#define CANCEL_BOUND_MOST_USEC 60000000
#define GRACE_RANGE "10ms to 60s" /* of the grace: as the cancel bound */

/* The ends that keep an invocation's proposals (I-78). A broken budget, a denial and `lethe kill --discard` never
 * do. */
typedef enum CommitWhen { COMMIT_ANY = 0, COMMIT_SUCCESS } CommitWhen;
extern const char *const commit_words[]; /* "success": exit code 0 */

/* The kind of place in which a skill runs, the weakest first. This version has only processes. */
typedef enum Embodiment { EMBODIMENT_ARENA = 0, EMBODIMENT_PROCESS, EMBODIMENT_CONTAINER } Embodiment;
extern const char *const embodiment_words[];

/* The rules for names, for manifest, policy and command line (others are in base/id.h). */
bool env_name_valid(const char *name, size_t n);

/* Normalises an absolute path: no empty or "." parts. Returns 0 with an owned *ret; TERMS_E_BAD for a relative path, a
 * ".." part, a control character, bad UTF-8 or more than PATH_MAX bytes; -ENOMEM. */
int path_normalise(const char *path, char **ret, Diag *reterr);
/* Whether the path has a ".." part. */
bool path_has_dots(const char *path);
/* Whether the host has an executable file at the path. */
bool path_is_program(const char *path);
/* The first such file of that name in REGION_PATH, as a shell would find the file: owned, or NULL. Returns 0 or
 * -ENOMEM. */
int path_search(const char *name, char **ret);
/* Whether path is `root` or lies below `root`; both are normalised. */
bool path_is_under(const char *path, const char *root);
/* Checks a place for a mount. Refused are the root, /lethe, /proc, /dev, /sys, /skill and all paths below these five,
 * /work and /tmp themselves, the system folders and all paths below: an interpreter loads files from there (I-93). own:
 * target is the file's path on the host, and the mount is read-only: then a place below a system folder is allowed, if
 * only root can write the file (checked by places_check()). `target` is normalised. Returns 0 or TERMS_E_BAD. */
int path_target_check(const char *target, bool own, Diag *reterr);
/* Whether the path is a system folder, or below a system folder. */
bool path_is_system(const char *path);

/* As asprintf(3). Owned, NULL when out of memory. */
char *text_printf(const char *fmt, ...) _printf_(1, 2);
char *text_vprintf(const char *fmt, va_list ap) _printf_(1, 0);
/* A copy of the text, or NULL; owned. Returns 0 or -ENOMEM. */
int text_copy(char **ret, const char *text_or_null);
void strv_free(char **v); /* NULL-terminated, all owned */
#define _cleanup_strv_ _cleanup_(strv_freep)
static inline void strv_freep(char ***v) {
        strv_free(*v);
}
size_t strv_length(char *const *v);
/* Appends a copy. Returns 0 or -ENOMEM. */
int strv_add(char ***v, const char *s);
/* Appends copies of all texts of `more` (NULL: no texts); fast for very many texts. Returns 0 or -ENOMEM. */
int strv_add_all(char ***v, char *const *more);
bool strv_has(char *const *v, const char *s);
/* The index of the text in a NULL-terminated list, or -1. */
int word_index(const char *const *words, const char *text);
