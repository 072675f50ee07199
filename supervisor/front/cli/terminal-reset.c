/* Runs: CLI. */
#include "cli/terminal-reset.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { SCAN_TEXT = 0, SCAN_ESCAPE, SCAN_CSI };

/* UTF-8 as terminals decode it: a byte or character of 0x80 to 0x9f may be a command without ESC. */
static void scan_high(TerminalScan *s, unsigned char b) {
        if (b < 0xC0) {
                if (s->continuation == 0 || (s->lead == 0xC2 && b < 0xA0))
                        s->wild = true;
                else
                        s->continuation--;
                s->lead = 0;
                return;
        }
        s->wild |= s->continuation > 0 || b < 0xC2 || b > 0xF4;
        s->lead = b;
        s->continuation = b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
}

static void scan_text(TerminalScan *s, unsigned char b) {
        if (b >= 0x80) {
                scan_high(s, b);
                return;
        }
        s->wild |= s->continuation > 0;
        s->continuation = 0;
        if (b == 033) {
                s->state = SCAN_ESCAPE;
                s->commands = true;
        } else if (b < 0x20)
                s->wild |= !strchr("\a\b\t\n\r", b) || b == 0;
        else
                s->wild |= b == 0x7F;
}

static void scan_csi(TerminalScan *s, unsigned char b) {
        if ((b >= '0' && b <= '9') || b == ';' || b == '?') {
                s->wild |= b == '?' && s->n_parameters > 0;
                if (s->n_parameters < sizeof(s->parameters) - 1)
                        s->parameters[s->n_parameters++] = (char)b;
                else
                        s->cut = true;
                return;
        }
        s->parameters[s->n_parameters] = 0;
        s->state = SCAN_TEXT;
        if (b == 'h' || b == 'l')
                s->wild |= s->cut || (strcmp(s->parameters, "?2004") != 0 && strcmp(s->parameters, "?25") != 0);
        else
                s->wild |= b == 0 || !strchr("mKCDGPX@", b) || strchr(s->parameters, '?');
}

void terminal_scan(TerminalScan *s, const char *bytes, size_t n) {
        for (size_t i = 0; i < n && !s->wild; i++) {
                const unsigned char b = (unsigned char)bytes[i];

                if (s->state == SCAN_TEXT)
                        scan_text(s, b);
                else if (s->state == SCAN_CSI)
                        scan_csi(s, b);
                else {
                        s->wild |= b != '[';
                        s->state = SCAN_CSI;
                        s->n_parameters = 0;
                        s->cut = false;
                }
        }
        if (n > 0)
                s->in_line = bytes[n - 1] != '\n';
}

void terminal_scan_end(TerminalScan *s) {
        s->wild |= s->state != SCAN_TEXT || s->continuation > 0;
}

const char terminal_reset_commands[] = "\033[0m\033[?2004l\033[?25h";

const char terminal_reset_wild[] =
        "\030\033\\"                              /* ends a command, and a string of any kind */
        "\033[?1047l\033[?47l"                    /* the usual screen */
        "\033%G\017\033(B\033)B\033*B\033+B"      /* UTF-8; character sets */
        "\033[!p\033[r\033[?6l\033[?69l\033[s"    /* soft reset; margins; the saved cursor */
        "\033[?7h\033[?5l\033[4l\033[20l\033[12h" /* wrapping, colours not inverted, insert, new line, echo */
        "\033[?1l\033>\033[?66l\033[<99u\033[=0u\033[>4;0m" /* keys */
        "\033[?9l\033[?1000l\033[?1001l\033[?1002l\033[?1003l\033[?1004l\033[?1005l\033[?1006l\033[?1007l\033[?1015l"
        "\033[?1016l"                             /* mouse, focus */
        "\033[?2004l\033[?2026l\033[?2031l\033[?2048l" /* paste, synchronised output, reports */
        "\033]8;;\033\\\033]104\033\\\033]110\033\\\033]111\033\\\033]112\033\\" /* links, colours */
        "\033[?5W\033[0 q\033[?25h\033[0m"        /* tabulators, cursor, attributes */
        "\033[23;0t"                              /* titles, as before TERMINAL_SAVE */
        "\033[9999;1H\r\n";                       /* a new line below all others */

/* An earlier question may have had each single answer, but not four guessed in a row. */
#define QUERY_PLACES 4

bool terminal_query(unsigned rows, unsigned columns, char query[static TERMINAL_QUERY_MAX],
                    char answer[static TERMINAL_QUERY_MAX]) {
        unsigned random[2 * QUERY_PLACES];
        size_t q = 0, a = 0;

        if (getrandom(random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
                return false;
        q += (size_t)snprintf(query, TERMINAL_QUERY_MAX, "\0337");
        for (size_t i = 0; i < QUERY_PLACES; i++) {
                const unsigned row = random[2 * i] % (rows ? rows : 24) + 1,
                               column = random[2 * i + 1] % (columns ? columns : 80) + 1;

                q += (size_t)snprintf(query + q, TERMINAL_QUERY_MAX - q, "\033[%u;%uH\033[6n", row, column);
                a += (size_t)snprintf(answer + a, TERMINAL_QUERY_MAX - a, "\033[%u;%uR", row, column);
        }
        snprintf(query + q, TERMINAL_QUERY_MAX - q, "\0338");
        return true;
}
