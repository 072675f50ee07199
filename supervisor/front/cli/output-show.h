/* Runs: CLI. The kept output of a detached region: chosen on the command line, followed, and shown. */
#pragma once

#include "base/buf.h"
#include "cli/with-store.h"
#include "output/output.h"

/* REGION... or --last (option 'L'). Returns EXIT_OK, or EXIT_USAGE after a message. */
int output_check_arguments(const char *verb, const StoreOptions *o, int argc);
/* argument NULL: the detached region that began last. Returns EXIT_OK, or another code after a message. */
int output_region(const char *verb, Store *s, const StoreOptions *o, const char *argument_or_null,
                  char ret[static REGION_ID_MAX]);

typedef struct OutputShow {
        const char *verb;    /* borrowed */
        RegionId region;
        Store *store;        /* borrowed */
        OutputReader reader; /* owned */
        int watch;           /* inotify: readable when there may be more; -1: not to be had */
        uint64_t since_usec; /* CLOCK_REALTIME: earlier pieces are left out */
        uint64_t skip;       /* lines to leave out */
        bool safe[2];        /* a terminal gets no commands of a region */
        Buf line[2];         /* of a terminal: not whole yet */
        bool quiet;          /* nothing is shown */
        bool over;           /* no further output comes */
        bool cut;            /* the supervisor died before the end of the output */
} OutputShow;

/* Opens the output of a region. Returns EXIT_OK, or another code after a message. */
int output_show_begin(const char *verb, Store *s, const char *region, bool raw, OutputShow *ret);
/* The lines of both streams now, counting unfinished last lines. Returns as output_show_begin(). */
int output_show_count(const char *verb, Store *s, const char *region, uint64_t since_usec, uint64_t *ret);
/* Shows the present rest. With show->over no more comes. Returns EXIT_OK, or another code after a message. */
int output_show_take(OutputShow *show);
void output_show_end(OutputShow *show);
#define _cleanup_output_show_ _cleanup_(output_show_end)
