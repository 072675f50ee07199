/* Runs: supervisor. From where an interpreter may load what is named before it is confined as a region is: folders of the system that only root can write. */
#pragma once

#include "base/util.h"

/* Whether root alone can change what this path leads to: each folder on the way to it, links followed, and itself. */
bool trusted_path(const char *path);
/* Folders of modules of the interpreter of that name, those that pass trusted_path() and are below /usr (or /lib), joined by ':'; owned. "" for none, or for an
 * interpreter that has no such folders. NULL: out of memory. */
char *trusted_folders(const char *interpreter);
