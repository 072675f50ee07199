/* Runs: CLI. A standard stream of the caller's, for cli/front.h: one that lies on a served file system is read or written by a process of its own. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

typedef struct FrontStream {
        int number; /* 0 to 2 */
        int fd;     /* what the supervisor is given: the stream itself, or our end of a pipe */
        pid_t pid;  /* of the process that reads or writes the stream; 0: none */
        int pidfd;
} FrontStream;

bool front_stream_is_served(int fd);
/* number: 0 to 2. Returns 0 or -errno. */
int front_stream_begin(int number, FrontStream *ret);
/* The supervisor has it: our copy of a pipe is closed. */
void front_stream_handed(FrontStream *s);
/* Our own messages go there, too. */
void front_stream_say(FrontStream *s);
/* Nobody uses it any more. False: what was written to it is not taken after usec. */
bool front_stream_end(FrontStream *s, uint64_t usec);
