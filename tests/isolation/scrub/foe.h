/* Runs: tests, inside a region. What the ways of foe share. */
#pragma once

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define MB (1024UL * 1024)

typedef struct Way {
        const char *name;
        void (*act)(int n);
} Way;

extern const char *self, *argument; /* the program, as it can be executed again; its second argument */

/* Joined only at run time. */
static inline uint64_t secret(void) {
        static volatile uint64_t half = 0x5ec2e7a1;

        return half << 32 | 0x0badcafe;
}

static inline void plant(void *p, size_t n) {
        uint64_t word = secret();

        for (size_t i = 0; i < n / 8; i++)
                ((volatile uint64_t *)p)[i] = word;
}

/* Fresh private, or shared, memory that is full of the secret. */
char *planted(size_t n);
char *shared(size_t n);
/* Says that it is ready, and does nothing more. */
void wait_for_end(void);
void spin(unsigned n);

/* foe-threads.c, foe-files.c, foe-held.c */
void way_thread_queue(int n);
void way_thread_waiting(int n);
void way_leader_gone(int n);
void way_sent_urgent(int n);
void way_read_urgent(int n);
void way_call(int n);
void way_together(int how);
void way_call_socket(int n);
void way_one_page(int n);
void way_one_page_file(int n);
void way_threads(int n);
void way_thread_exec(int n);
void way_thread_file(int n);
void way_sent(int n);
void way_sent_nested(int n);
void way_sent_child(int n);
void way_sent_by(int n);
void way_sent_deep(int n);
void way_sent_seen(int n);
void way_sent_wide(int n);
void way_sent_waiting(int n);
void way_executed(int n);
void way_links(int n);
void way_unnamed(int n);
void way_deep(int n);
void way_closed(int n);
void way_queues(int n);
void way_mapped(int n);
void way_fifo(int n);
/* foe-reach.c */
void way_sockets(int n);
void way_behind(int n);
void way_behind_empty(int n);
void way_many_deleted(int n);
void way_locked(int n);
void way_path_only(int n);
void way_sealed(int n);
void way_doubled(int n);
void way_private_page(int n);
void way_pages(int n);
void way_marks(int n);
void way_guarded(int n);
