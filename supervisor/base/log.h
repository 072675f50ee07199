/* Runs: supervisor, CLI. Lines for the operator on standard error: "lethe: …". Never a secret or a skill's raw
 * bytes. */
#pragma once

#include "base/util.h"

typedef enum LogLevel { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTE, LOG_LEVEL_DEBUG } LogLevel;

/* For the messages of the calling thread only. */
void log_set_level(LogLevel most); /* default LOG_LEVEL_NOTE */
void log_to(int fd, LogLevel most); /* fd: borrowed; 0: standard error */
/* All lines of the calling thread go to a function, whole, from here on; NULL: no longer. */
void log_to_function(void (*take)(void *userdata, const char *line, size_t n), void *userdata);
/* Lines on standard error begin with their priority, for journald (sd-daemon(3)). Only before a second thread
 * exists. */
void log_with_priority(void);
/* From here on no line waits for the reader of standard error: up to some 64 KiB are kept, and written later. */
void log_hold(void);
/* Some was kept. */
bool log_is_kept(void);
/* Waits until all kept lines are written, stop_fd (-1: none) is readable, or standard error took no byte for
 * patience_msec: then the rest is dropped, and later lines are kept. After success, lines are written at once. */
void log_let_go(int stop_fd, int patience_msec);
/* Frees what the calling thread still keeps: the last call of a thread that logs and ends. */
void log_end_thread(void);
void log_line(LogLevel level, const char *fmt, ...) _printf_(2, 3);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_note(...) log_line(LOG_LEVEL_NOTE, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
