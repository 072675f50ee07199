#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static LogLevel level_max = LOG_LEVEL_NOTE;

void log_set_level(LogLevel most) {
        level_max = most;
}

void log_line(LogLevel level, const char *fmt, ...) {
        static const char *const words[] = {"", "warning: ", "", "debug: "};
        char line[2048];
        va_list ap;
        int n, m;

        if (level > level_max)
                return;
        n = snprintf(line, sizeof(line), "lethe: %s", words[level]);
        va_start(ap, fmt);
        m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
        va_end(ap);
        n = (int)MIN((size_t)(n + MAX(m, 0)), sizeof(line) - 2);
        line[n++] = '\n';
        /* One write, so that lines of several processes do not mix; a broken standard error is nobody's failure. */
        if (write(STDERR_FILENO, line, (size_t)n) < 0)
                return;
}
