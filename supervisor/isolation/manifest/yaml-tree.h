/* Runs: supervisor, CLI. A small, bounded YAML reader: mappings, sequences and scalars; no references or types. */
#pragma once

#include "manifest/finding.h"

typedef struct YamlTree {
        json_t *root;  /* objects, arrays, strings: every scalar as text; NULL: refused */
        json_t *lines; /* object: top-level key -> line in the file */
        json_t *plain; /* object: top-level key -> true when other readers take a value below as no text */
} YamlTree;

void yaml_tree_deinit(YamlTree *t);
#define _cleanup_yaml_tree_ _cleanup_(yaml_tree_deinit)

/* Reads one document whose root is a mapping. first_line: line of the text's first line in `file`. Anchors, aliases,
 * tags, directives, a second document, keys that are not scalars, duplicate keys, NUL and nesting beyond max_depth are
 * findings at FINDING_ERROR, and root stays NULL. Returns 0 or -ENOMEM. */
int yaml_tree_read(const char *text, size_t n, const char *file, unsigned first_line, unsigned max_depth, YamlTree *ret,
                   Findings *findings);
