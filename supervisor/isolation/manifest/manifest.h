/* Runs: supervisor, CLI. lethe.json: what a skill asks for (schema/manifest.md, schema/lethe.schema.json). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"
#include "manifest/bundle.h"
#include "manifest/finding.h"
#include "manifest/memory-right.h"
#include "manifest/vocabulary.h"

#define MANIFEST_NAME "lethe.json"
#define RELEASES_MAX 16
#define CANCEL_BOUND_STANDARD_USEC 250000

typedef struct Entry {
        char *name;
        char **argv; /* NULL-terminated, at least one */
} Entry;

typedef struct FileAsk {
        char *path;   /* on the host, absolute, normalised, as written */
        char *real;   /* the same with symlinks resolved at load; NULL when it does not exist */
        char *target; /* in the region: "at", else path */
        bool write;
} FileAsk;

/* A release callback: an entry that runs when the region has ended (I-35). */
typedef struct ReleaseAsk {
        char *entry;         /* the name of one of the entries */
        Budget budget;       /* 0: not said */
} ReleaseAsk;

typedef struct Manifest {
        Entry *entries;
        size_t n_entries;
        Budget budget;       /* 0: not said */
        char **reads, **writes;
        json_t *slots;       /* object name -> JSON Schema (files already read in), or NULL */
        FileAsk *files;
        size_t n_files;
        NetworkMode network;
        NetGrant *connects;
        size_t n_connects;
        char **env;          /* NAME=VALUE */
        bool proc;
        Tier min_tier;       /* 0: not said */
        DenialMode on_denial;
        bool report_paths;   /* default true */
        uint64_t cancel_bound_usec; /* 0: not said */
        bool discipline_said;
        Discipline discipline; /* with passes as in Grant */
        unsigned passes;
        bool lineage_said, key_scope_said, embodiment_said, commit_said;
        LineageDetail lineage;
        KeyScope key_scope;
        Embodiment embodiment;
        CommitWhen commit;
        json_t *sections;    /* object name -> {"schema": JSON Schema, "bytes": integer}, complete; or NULL */
        char **resources;
        ReleaseAsk *releases;
        size_t n_releases;
        char **sub_skills;
        char *notes, *canon; /* scope that its notes speak of, and the one whose shared belief it reads; NULL: not asked */
        MemoryRight *memory; /* typed memory that it asks for, each scope once */
        size_t n_memory;
        char **preload;      /* of "warm" */
        json_t *gates;       /* array of {"slot", "schema": JSON Schema}, or NULL */
} Manifest;

void manifest_deinit(Manifest *m);
/* The manifest of a skill without lethe.json. */
Manifest manifest_none(void);
/* NULL: there is none of that name. */
const Entry *manifest_entry(const Manifest *m, const char *name);
/* Reads the text of a lethe.json. Each fault is a finding at FINDING_ERROR; all are found, not only the first. Slot schemas that name
 * a file are read from the bundle behind dirfd (NULL: named files are faults). Looks at no other file. Returns 0 or -ENOMEM; *ret is set
 * only when no fault was found. */
int manifest_parse(const char *text, size_t n, int dirfd, const Bundle *bundle_or_null, Manifest *ret, Findings *findings);
