/* Runs: supervisor, CLI. A growing byte buffer with a bound. */
#pragma once

#include "base/util.h"

#include <stdarg.h>

typedef struct Buf {
        char *data;  /* NUL follows data[n] whenever data is set; owned */
        size_t n;    /* bytes used */
        size_t room; /* bytes allocated */
        size_t max;  /* limit of n; 0 means 64 MiB */
} Buf;

/* Overwrites and frees the bytes. Growing and buf_drop() overwrite the bytes they leave behind, too. */
void buf_deinit(Buf *b);
#define _cleanup_buf_ _cleanup_(buf_deinit)

/* Returns 0, -ENOMEM, or -EFBIG beyond the bound; on failure the buffer is unchanged. */
int buf_add(Buf *b, const void *bytes, size_t n);
/* Makes room for n more bytes, for a caller that writes behind data[n] itself. Returns as buf_add(). */
int buf_reserve(Buf *b, size_t n);
int buf_add_str(Buf *b, const char *s);
int buf_printf(Buf *b, const char *fmt, ...) _printf_(2, 3);
int buf_vprintf(Buf *b, const char *fmt, va_list ap) _printf_(2, 0);
/* Text for a JSON string: NUL and bytes that are not UTF-8 become U+FFFD. */
int buf_add_plain(Buf *b, const char *bytes, size_t n);
/* Removes the first n bytes. */
void buf_drop(Buf *b, size_t n);
