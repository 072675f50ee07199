/* Runs: CLI. What a region's output did to the user's terminal, and how the terminal becomes usable again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Output without other commands than colours, movement within a line, the cursor's look and bracketed paste needs no
 * reset, and asks the terminal nothing. Zeros: no output yet. */
typedef struct TerminalScan {
        bool commands; /* any command: colours may be left */
        bool wild;     /* a command beyond those: the terminal may be in any state, and may answer */
        bool in_line;  /* the last byte ended no line */
        unsigned state, continuation;
        unsigned char lead;
        char parameters[8]; /* of a command: the first ones */
        bool cut;           /* there are more */
        size_t n_parameters;
} TerminalScan;

void terminal_scan(TerminalScan *s, const char *bytes, size_t n);
/* Output that ends inside of a command or a character. */
void terminal_scan_end(TerminalScan *s);

#define TERMINAL_SAVE "\033[22;0t" /* keeps titles: before the first wild byte */
extern const char terminal_reset_wild[], terminal_reset_commands[];

#define TERMINAL_QUERY_MAX 128
/* A question whose answer no earlier question has: the cursor's place, after jumps to random places. A terminal answers
 * in order, so the answer is the last. Returns false without random numbers. */
bool terminal_query(unsigned rows, unsigned columns, char query[static TERMINAL_QUERY_MAX],
                    char answer[static TERMINAL_QUERY_MAX]);
