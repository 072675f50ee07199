/* Runs: lethe-proxy, lethe-layer. The beginning of a process with a channel, descriptor LAUNCHED_FD. The maker is the
 * supervisor, or a launcher: the same program with the argument "launcher", and a fork for each socket from the
 * launcher's own channel. The byte beside the socket says whether the fork is a process, or another launcher. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

#define LAUNCHED_FD 3
#define LAUNCHED_ARG "launcher"
#define LAUNCHED_PROCESS 'p'
#define LAUNCHED_LAUNCHER 'l'

/* Forgets the environment and every right to more privileges, goes to "/", and calls load() (or NULL), once for all
 * children of a launcher. In a launcher returns in each child alone. Returns the launcher's pid, 0 for a process of the
 * supervisor's, or -1 when main() is to end. */
pid_t launched_begin(int argc, char **argv, bool (*load)(void));
/* The kernel ends the process with the maker. launcher: of launched_begin(). A change of the user takes the tie away,
 * and comes before. False: the maker has ended already. */
bool launched_tie(pid_t launcher);
