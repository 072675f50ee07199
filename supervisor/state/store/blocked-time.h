/* Runs: supervisor, CLI. A thread's waits for the store: for the ticket, for a process (store/write-lock.h), for the disk. A
 * caller can subtract the waits from a measured time: a slow disk is no late teardown (I-79). */
#pragma once

#include <stdint.h>

/* Around each wait. For nested waits only the outer wait counts. */
void blocked_begin(void);
void blocked_end(void);

/* The waits between both times (CLOCK_MONOTONIC usec), the last BLOCKED_MAX at most: never too much. */
#define BLOCKED_MAX 64
uint64_t store_blocked_usec(uint64_t from_usec, uint64_t to_usec);
