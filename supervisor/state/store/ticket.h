/* Runs: supervisor, CLI. Inside of store/: the ticket to write. The ticket goes from thread to thread in the order of
 * asking. The holder sees the work of all holders before. A waiting thread sleeps on a word of its own, so a hand-over
 * wakes only the next holder. */
#pragma once

#include "base/util.h"

#include <pthread.h>
#include <stdatomic.h>

/* A word for a wait: 0 until said. A waiter sees all work done before flag_say(). */
typedef _Atomic uint32_t Flag;
void flag_wait(Flag *f);
/* Wakes all waiters. A waiter that owns f may free f before flag_say() returns. */
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
#define TICKET_NULL ((Ticket){.mutex = PTHREAD_MUTEX_INITIALIZER})

void ticket_take(Ticket *t);
/* Hands the ticket to the next waiter. Returns false without a waiter: the caller still has the ticket. */
bool ticket_pass(Ticket *t);
/* Hands the ticket to the next waiter, or frees the ticket. */
void ticket_leave(Ticket *t);
