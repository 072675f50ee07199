/* Runs: supervisor, CLI. Lines for the operator on standard error: "lethe: …". Never a secret, never a skill's raw
 * bytes. */
#pragma once

#include "base/util.h"

typedef enum LogLevel { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTE, LOG_LEVEL_DEBUG } LogLevel;

/* What the calling thread says, and only that. */
void log_set_level(LogLevel most); /* default LOG_LEVEL_NOTE */
void log_to(int fd, LogLevel most); /* fd: borrowed; 0: standard error */
/* All lines of the calling thread go to a function, whole, from here on; NULL: no longer. */
void log_to_function(void (*take)(void *userdata, const char *line, size_t n), void *userdata);
/* Lines to standard error begin with their priority, as journald reads it (sd-daemon(3)). Before there is another
 * thread. */
void log_with_priority(void);
/* From here on no line waits for who reads standard error: what it does not take at once is kept, up to some 64 KiB,
 * and comes later. */
void log_hold(void);
/* Some was kept. */
bool log_is_kept(void);
/* Waits until what was kept is written, stop_fd (-1: none) is readable, or standard error took nothing for so long: the
 * rest is dropped then, and lines are held on as before. Else lines are written at once again. */
void log_let_go(int stop_fd, int patience_msec);
void log_line(LogLevel level, const char *fmt, ...) _printf_(2, 3);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_note(...) log_line(LOG_LEVEL_NOTE, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
