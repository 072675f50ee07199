#include "store/ticket.h"

#include <linux/futex.h>
#include <limits.h>
#include <sys/syscall.h>

void flag_wait(Flag *f) {
        while (atomic_load_explicit(f, memory_order_acquire) == 0)
                syscall(SYS_futex, f, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

void flag_say(Flag *f) {
        atomic_store_explicit(f, 1, memory_order_release);
        syscall(SYS_futex, f, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void ticket_take(Ticket *t) {
        TicketWaiter w = {0};
        bool wait;

        pthread_mutex_lock(&t->mutex);
        wait = t->taken;
        if (wait) {
                if (t->last)
                        t->last->next = &w;
                else
                        t->first = &w;
                t->last = &w;
        }
        t->taken = true;
        pthread_mutex_unlock(&t->mutex);
        if (wait)
                flag_wait(&w.go);
}

static bool ticket_hand_over(Ticket *t, bool leave) {
        TicketWaiter *next;

        pthread_mutex_lock(&t->mutex);
        assert(t->taken);
        next = t->first;
        if (next) {
                t->first = next->next;
                if (!t->first)
                        t->last = NULL;
        } else if (leave)
                t->taken = false;
        pthread_mutex_unlock(&t->mutex);
        if (next)
                flag_say(&next->go);
        return next;
}

bool ticket_pass(Ticket *t) {
        return ticket_hand_over(t, false);
}

void ticket_leave(Ticket *t) {
        ticket_hand_over(t, true);
}
