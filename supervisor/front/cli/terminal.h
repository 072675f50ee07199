/* Runs: CLI. A process above the supervisor of `lethe run`, which alone has the user's terminal. The supervisor, or the
 * client of a daemon, becomes a child with a socket and pipes as its standard streams: neither has the terminal, and a
 * region has a pseudo terminal of its own. The process relays bytes and sizes (schema/terminal.h), and gives the
 * terminal back as it was, whatever ends the child.
 *
 * Until the region is gone no message of Lethe is printed. The messages follow on lines of their own, after a reset of
 * the terminal when the region's output may have changed more than colours (terminal-reset.h). */
#pragma once

#include "cli/cli.h"

/* Standard input and output are the same terminal. */
bool terminal_is_there(void);
/* The process is in the terminal's foreground. */
bool terminal_is_in_front(void);
/* Calls fn in a child; passes on signals and the child's end. Returns the exit code; in the child, the result of fn. */
int terminal_run(VerbFn fn, int argc, char **argv);
/* True in the child of terminal_run(). */
bool terminal_is_child(void);
