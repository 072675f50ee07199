/* Runs: supervisor, CLI. lethe.json: the requests of a skill (schema/manifest.md, schema/lethe.schema.json). */
#pragma once

#include "manifest/bundle.h"
#include "manifest/memory-right.h"
#include "manifest/net-name.h"

#include <string.h>

#define MANIFEST_NAME "lethe.json"
#define RELEASES_MAX 16
#define CANCEL_BOUND_STANDARD_USEC 250000

typedef struct ManifestEntry {
        char *name;
        char **argv; /* NULL-terminated, at least one */
} ManifestEntry;

typedef struct FileAsk {
        char *path;   /* on the host, absolute, normalised, as written */
        char *real;   /* path with symlinks resolved at load; NULL when the file does not exist */
        char *target; /* in the region: "at", else path */
        bool write;
} FileAsk;

/* A release callback: an entry that runs when the region has ended (I-35). */
typedef struct ReleaseAsk {
        char *entry;         /* name of an entry */
        Budget budget;       /* 0: not given */
} ReleaseAsk;

typedef struct Manifest {
        ManifestEntry *entries;
        size_t n_entries;
        Budget budget;       /* 0: not given */
        char **reads, **writes;
        json_t *slots;       /* object name -> JSON Schema (files already read in), or NULL */
        FileAsk *files;
        size_t n_files;
        NetworkMode network;
        NetGrant *connects;
        size_t n_connects;
        char **env;          /* NAME=VALUE */
        bool proc, terminals;
        Tier min_tier;       /* 0: not given */
        DenialMode on_denial;
        bool report_paths;   /* default true */
        uint64_t cancel_bound_usec; /* 0: not given */
        uint64_t grace_usec;        /* 0: not given */
        bool discipline_said;
        Discipline discipline; /* passes as in Grant */
        unsigned passes;
        bool lineage_said, key_scope_said, embodiment_said, commit_said;
        LineageDetail lineage;
        KeyScope key_scope;
        Embodiment embodiment;
        CommitWhen commit;
        json_t *sections;    /* object name -> {"schema": JSON Schema, "bytes": integer}, complete; or NULL */
        /* {"sections", "idle_usec", "turns", "on_crash": "end"|"resume",
         * "cognition"?: {"role"?,"compressor"?,"k" (0: the default)}}, complete; NULL: no session of the skill */
        json_t *session;
        bool session_idle_said;
        char **resources;
        ReleaseAsk *releases;
        size_t n_releases;
        char **sub_skills;
        /* scope of the skill's notes, and scope whose shared belief the skill reads; NULL: not requested */
        char *notes, *canon, *kernels; /* kernels: scope whose kernels the skill reads */
        bool own_notes;                /* the skill reads the notes of its own run */
        MemoryRight *memory; /* requested typed memory, each scope once */
        size_t n_memory;
        NetName *allows;     /* requested hosts by name */
        size_t n_allows;
        ProxyBudget net_budget;
        char **routes;       /* requested routes, NULL-terminated; NULL: none */
        char **preload;      /* of "warm" */
        json_t *input, *output; /* JSON Schemas of what a call of the skill as a tool takes and gives, or NULL */
        /* {"as": McpAs, "content", "asks": 1 << index in manifest_mcp_asks, "name"?, "uri"?, "type"?}; NULL: a tool */
        json_t *mcp;
        json_t *gates;       /* array of {"slot", "schema": JSON Schema}, or NULL */
} Manifest;

/* NULL: no entry of that name. */
static inline const ManifestEntry *manifest_entry(const Manifest *m, const char *name) {
        for (size_t i = 0; i < m->n_entries; i++)
                if (m->entries[i].name && strcmp(m->entries[i].name, name) == 0)
                        return &m->entries[i];
        return NULL;
}

/* The part of a skill for a client of the Model Context Protocol; the order is that of the words in the manifest. */
typedef enum McpAs { MCP_AS_TOOL, MCP_AS_PROMPT, MCP_AS_RESOURCE } McpAs;
extern const char *const manifest_mcp_asks[]; /* ended by NULL */

void manifest_deinit(Manifest *m);
/* The manifest of a skill without lethe.json. */
Manifest manifest_none(void);
/* Reads the text of a lethe.json. Each fault is a finding at FINDING_ERROR, and all faults are found. A slot schema
 * that names a file is read from the bundle behind dirfd (bundle NULL: a fault); no other file is read. Returns 0 or
 * -ENOMEM; *ret is set only when there is no fault. */
int manifest_parse(const char *text, size_t n, int dirfd, const Bundle *bundle_or_null, Manifest *ret,
                   Findings *findings);
