/* Runs: supervisor, CLI. How long a thread waited for the store: for its turn, for another process (store/gate.h), for the disk. A caller that measures
 * something else meanwhile can tell the two apart: a slow disk is no late teardown (I-79). */
#pragma once

#include <stdint.h>

/* Around each wait. Of waits inside each other the outer one counts. */
void waited_begin(void);
void waited_end(void);

/* The time that this thread waited between the two times, CLOCK_MONOTONIC usec. Only the last WAITED_MAX waits are known: never more than the truth. */
#define WAITED_MAX 64
uint64_t store_waited(uint64_t from_usec, uint64_t to_usec);
