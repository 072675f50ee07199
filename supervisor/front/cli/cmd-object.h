/* Runs: CLI. The actions of `lethe object`: cmd-object.c has their table. */
#pragma once

#include "cli/actions.h"
#include "object/object.h"

#define OBJECT_VERB "object"

/* cmd-object-run.c */
int cmd_object_create(ActionArgs *a);
int cmd_object_cycle(ActionArgs *a);
int cmd_object_run(ActionArgs *a);
int cmd_object_input(ActionArgs *a);
int cmd_object_end(ActionArgs *a);
/* cmd-object-show.c */
int cmd_object_list(ActionArgs *a);
int cmd_object_show(ActionArgs *a);
int cmd_object_history(ActionArgs *a);
/* cmd-object-why.c */
int cmd_object_why(ActionArgs *a);
/* cmd-object-move.c */
int cmd_object_verify(ActionArgs *a);
int cmd_object_export(ActionArgs *a);
int cmd_object_import(ActionArgs *a);
int cmd_object_adopt(ActionArgs *a);
int cmd_object_trust(ActionArgs *a);
/* cmd-object-graph.c, cmd-object-top.c */
int cmd_object_graph(ActionArgs *a);
int cmd_object_top(ActionArgs *a);

/* cmd-object-find.c */
/* Can the first argument name an object? */
bool cmd_object_is_named(const ActionArgs *a);
/* The same. Returns EXIT_OK, or EXIT_USAGE after a message. */
int cmd_object_id(const ActionArgs *a);
/* Puts an object's id in place of the first argument: of its beginning, or of --last. A whole id is not looked up.
 * Returns 0, ENGINE_E_NO_OBJECT with a message in a->d, -errno. */
int cmd_object_find(ActionArgs *a, Txn *t);
/* Both, with action_begin() in between. Returns EXIT_OK, or another code after a message. */
int cmd_object_begin(ActionArgs *a, bool write);
/* Reads a file, or standard input for "-", as UTF-8 text. Returns EXIT_OK, or another code after a message. */
int cmd_object_read(ActionArgs *a, const char *what, const char *path, size_t most, char **ret, size_t *ret_n);
/* The operator's policy, of --policy. Returns EXIT_OK, or EXIT_NOT after a message. */
struct Policy;
int cmd_object_policy(ActionArgs *a, struct Policy **ret);
/* A trigger or condition in words, appended to b. Returns 0 or -ENOMEM. */
struct Buf;
int cmd_object_say_trigger(struct Buf *b, const json_t *trigger);
/* The work of an intent, or of a step, in words. */
int cmd_object_say_todo(struct Buf *b, const json_t *todo);
