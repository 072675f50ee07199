/* Output of a region for a user's terminal: how the output is cut makes no difference; and tame output is plain text, a
 * few commands without effect on the next line, and nothing else. */
#include "cli/terminal-reset.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

/* The length of a tame command at the beginning, or 0. */
static size_t tame_command(const uint8_t *b, size_t n) {
        size_t at = 2;

        if (n < 3 || b[0] != 033 || b[1] != '[')
                return 0;
        if (n >= 8 && memcmp(b + 2, "?2004", 5) == 0 && (b[7] == 'h' || b[7] == 'l'))
                return 8;
        if (n >= 6 && memcmp(b + 2, "?25", 3) == 0 && (b[5] == 'h' || b[5] == 'l'))
                return 6;
        while (at < n && ((b[at] >= '0' && b[at] <= '9') || b[at] == ';'))
                at++;
        return at < n && b[at] != 0 && strchr("mKCDGPX@", b[at]) ? at + 1 : 0;
}

static void check_tame(const uint8_t *b, size_t n) {
        for (size_t i = 0; i < n;) {
                size_t command = tame_command(b + i, n - i);

                fuzz_check(command > 0 || b[i] != 033);
                fuzz_check(b[i] >= 0x20 || b[i] == 033 || (b[i] >= '\a' && b[i] <= '\n') || b[i] == '\r', "byte %d", b[i]);
                fuzz_check(b[i] != 0x7F && (b[i] != 0xC2 || (i + 1 < n && b[i + 1] >= 0xA0)));
                fuzz_check(b[i] < 0x80 || b[i] >= 0xC0 || (i > 0 && b[i - 1] >= 0x80));
                i += command ? command : 1;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        TerminalScan whole = {}, parts = {};

        terminal_scan(&whole, (const char *)data, n);
        for (size_t i = 0; i < n; i++)
                terminal_scan(&parts, (const char *)data + i, 1);
        terminal_scan_end(&whole);
        terminal_scan_end(&parts);
        fuzz_check(whole.wild == parts.wild && whole.in_line == parts.in_line);
        fuzz_check(whole.in_line == (n > 0 && data[n - 1] != '\n'));
        if (!whole.wild)
                check_tame(data, n);
        return 0;
}
