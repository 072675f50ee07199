#include "layer/lines.h"

#include <errno.h>
#include <string.h>

#define CONTEXT 3
#define EDITS_MAX 1500 /* of the shortest script (Myers 1986): memory grows with its square */
#define TEXT_LOOK 8000

typedef struct LineText {
        const char *p;
        size_t *at; /* n + 1 beginnings of lines */
        long n;
} LineText;

typedef struct Lines {
        LineText a, b;
        bool *gone, *come; /* by line of a, of b */
} Lines;

bool lines_is_text(const char *p, size_t n) {
        return memchr(p, 0, MIN(n, (size_t)TEXT_LOOK)) == NULL;
}

static int lines_split(const char *p, size_t n, LineText *ret) {
        size_t lines = 0, k = 0;

        for (const char *q = p; (q = memchr(q, '\n', n - (size_t)(q - p))); q++)
                lines++;
        lines += n > 0 && p[n - 1] != '\n';
        *ret = (LineText){.p = p, .at = calloc(lines + 1, sizeof(size_t)), .n = (long)lines};
        if (!ret->at)
                return -ENOMEM;
        for (size_t i = 1; i <= lines; i++) {
                const char *end = memchr(p + k, '\n', n - k);

                k = end ? (size_t)(end - p) + 1 : n;
                ret->at[i] = k;
        }
        return 0;
}

static bool lines_same(const Lines *l, long i, long j) {
        size_t n = l->a.at[i + 1] - l->a.at[i];

        return n == l->b.at[j + 1] - l->b.at[j] && memcmp(l->a.p + l->a.at[i], l->b.p + l->b.at[j], n) == 0;
}

/* Myers' greedy algorithm between line `from` of both and the ends; marks the lines that go and come. Returns 1 beyond
 * EDITS_MAX. */
static int lines_script(Lines *l, long from, long a_end, long b_end) {
        const long n = a_end - from, m = b_end - from, most = MIN(n + m, (long)EDITS_MAX);
        int *reach = calloc((size_t)(most + 1) * (size_t)(most + 2), sizeof(int)); /* row d: diagonals -d, -d+2 … d */
        long d, k, x, y, at = -1;

        if (!reach)
                return -ENOMEM;
#define REACH(d, k) reach[(d) * ((d) + 1) / 2 + ((k) + (d)) / 2]
        for (d = 0; d <= most && at < 0; d++)
                for (k = -d; k <= d; k += 2) {
                        if (d == 0)
                                x = 0;
                        else if (k == -d || (k != d && REACH(d - 1, k - 1) < REACH(d - 1, k + 1)))
                                x = REACH(d - 1, k + 1);
                        else
                                x = REACH(d - 1, k - 1) + 1;
                        for (y = x - k; x < n && y >= 0 && y < m && lines_same(l, from + x, from + y); y++)
                                x++;
                        REACH(d, k) = (int)x;
                        if (x >= n && y >= m) {
                                at = d;
                                break;
                        }
                }
        for (x = n, y = m, d = at; d > 0; d--) {
                k = x - y;
                if (k == -d || (k != d && REACH(d - 1, k - 1) < REACH(d - 1, k + 1))) {
                        x = REACH(d - 1, k + 1);
                        y = x - (k + 1);
                        l->come[from + y] = true;
                } else {
                        x = REACH(d - 1, k - 1);
                        y = x - (k - 1);
                        l->gone[from + x] = true;
                }
        }
#undef REACH
        free(reach);
        return at < 0 ? 1 : 0;
}

static int lines_mark(Lines *l) {
        long from = 0, a = l->a.n, b = l->b.n;
        int r;

        while (from < a && from < b && lines_same(l, from, from))
                from++;
        while (a > from && b > from && lines_same(l, a - 1, b - 1)) {
                a--;
                b--;
        }
        r = lines_script(l, from, a, b);
        if (r != 1)
                return r;
        memset(l->gone + from, true, (size_t)(a - from));
        memset(l->come + from, true, (size_t)(b - from));
        return 0;
}

static int lines_put(Buf *to, char sign, const LineText *t, long i) {
        size_t n = t->at[i + 1] - t->at[i];
        int r = buf_add(to, &sign, 1) ?: buf_add(to, t->p + t->at[i], n);

        return r != 0 || t->p[t->at[i + 1] - 1] == '\n' ? r : buf_add_str(to, "\n\\ No newline at end of file\n");
}

/* The hunk from line i of a and j of b, both with context in front; moves both behind the hunk. */
static int lines_hunk(const Lines *l, long *i, long *j, Buf *to) {
        long a = *i, b = *j, same = 0, a_end, b_end;
        int r;

        while ((a < l->a.n || b < l->b.n) && same <= 2 * CONTEXT) {
                if (a < l->a.n && l->gone[a]) {
                        a++;
                        same = 0;
                } else if (b < l->b.n && l->come[b]) {
                        b++;
                        same = 0;
                } else if (a < l->a.n && b < l->b.n) {
                        a++;
                        b++;
                        same++;
                } else
                        break;
        }
        a_end = a - MAX(same - CONTEXT, 0L);
        b_end = b - MAX(same - CONTEXT, 0L);
        r = buf_printf(to, "@@ -%ld,%ld +%ld,%ld @@\n", *i + (a_end > *i), a_end - *i, *j + (b_end > *j), b_end - *j);
        for (a = *i, b = *j; r == 0 && (a < a_end || b < b_end);)
                if (a < a_end && l->gone[a])
                        r = lines_put(to, '-', &l->a, a++);
                else if (b < b_end && l->come[b])
                        r = lines_put(to, '+', &l->b, b++);
                else {
                        r = lines_put(to, ' ', &l->a, a++);
                        b++;
                }
        *i = a_end;
        *j = b_end;
        return r;
}

static int lines_hunks(const Lines *l, Buf *to) {
        long i = 0, j = 0, back;
        int r = 0;

        while (r == 0 && (i < l->a.n || j < l->b.n)) {
                long from = i;

                while (i < l->a.n && j < l->b.n && !l->gone[i] && !l->come[j]) {
                        i++;
                        j++;
                }
                if (i >= l->a.n && j >= l->b.n)
                        break;
                back = MIN((long)CONTEXT, i - from);
                i -= back;
                j -= back;
                r = lines_hunk(l, &i, &j, to);
        }
        return r;
}

int lines_diff(const char *a, size_t n_a, const char *b, size_t n_b, Buf *ret) {
        Lines l = {0};
        int r = lines_split(a, n_a, &l.a) ?: lines_split(b, n_b, &l.b);

        l.gone = calloc((size_t)l.a.n + 1, sizeof(bool));
        l.come = calloc((size_t)l.b.n + 1, sizeof(bool));
        if (r == 0 && (!l.gone || !l.come))
                r = -ENOMEM;
        r = r ?: lines_mark(&l) ?
                                : lines_hunks(&l, ret);
        free(l.a.at);
        free(l.b.at);
        free(l.gone);
        free(l.come);
        return r;
}
