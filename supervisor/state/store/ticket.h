/* Runs: supervisor, CLI. Inside of store/: who writes next. A turn goes from hand to hand in the order of asking; who has it sees all that
 * those before it did. A thread that waits sleeps on a word of its own, so that handing over wakes it and nobody else. */
#pragma once

#include "base/util.h"

#include <pthread.h>
#include <stdatomic.h>

/* A word that somebody waits for: 0 until it is said. What was done before saying is seen after waiting. */
typedef _Atomic uint32_t Flag;
void flag_wait(Flag *f);
/* Wakes all that wait. f may be gone by the time this returns, when who waits owns it. */
void flag_say(Flag *f);

typedef struct TicketWaiter {
        struct TicketWaiter *next;
        Flag go;
} TicketWaiter;

typedef struct Ticket {
        pthread_mutex_t mutex;
        bool taken;
        TicketWaiter *first, *last;
} Ticket;
#define TURN_NULL ((Ticket){.mutex = PTHREAD_MUTEX_INITIALIZER})

void ticket_take(Ticket *t);
/* To the next in the line. Returns false when nobody waits: the turn is still the caller's. */
bool ticket_pass(Ticket *t);
/* To the next in the line, or to nobody. */
void ticket_leave(Ticket *t);
