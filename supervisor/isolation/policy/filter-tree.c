/* Shortens libseccomp's program. Installing a filter costs the kernel about 0.4 us for each instruction, in every
 * region. The program is run for each range of call numbers until the program decides or reads an argument. The ranges
 * become a tree of comparisons; instructions that read arguments are copied once. The calls' meaning is unknown
 * here. */
#include "policy/filter-tree.h"

#include <errno.h>
#include <stddef.h>

#define NR offsetof(struct seccomp_data, nr)
#define ARCH offsetof(struct seccomp_data, arch)
#define JUMP_MAX 255 /* reach of a comparison */
#define CHAIN_MAX 6  /* comparisons in a row, in places where a tree needs more */

/* The program's behaviour for the numbers from `from` on: return k, or go on at pc, which reads an argument. */
typedef struct Range {
        uint32_t from;
        int pc; /* -1: returns k */
        uint32_t k;
} Range;

/* Builds the program from the end to the beginning, so that every jump goes to an existing place, counted from the
 * end. */
typedef struct Maker {
        const struct sock_filter *in;
        size_t n_in;
        struct sock_filter out[BPF_MAXINSNS];
        int n;
        int placed[BPF_MAXINSNS]; /* place of an instruction of the original, or -1 */
        struct {
                uint32_t k;
                int at;
        } returned[16];
        size_t n_returned;
        bool failed; /* longer than BPF_MAXINSNS, or with unknown instructions: the original stays */
} Maker;

static bool tree_is_comparison(uint16_t code) {
        return code == (BPF_JMP | BPF_JEQ | BPF_K) || code == (BPF_JMP | BPF_JGT | BPF_K) ||
               code == (BPF_JMP | BPF_JGE | BPF_K);
}

static bool tree_compare_holds(const struct sock_filter *i, uint32_t a) {
        switch (BPF_OP(i->code)) {
        case BPF_JEQ:
                return a == i->k;
        case BPF_JGT:
                return a > i->k;
        default:
                return a >= i->k;
        }
}

/* Returns 0, or -EOPNOTSUPP for an unknown instruction. */
static int tree_run(const struct sock_filter *f, size_t n, uint32_t arch, uint32_t nr, Range *ret) {
        uint32_t a = 0;

        for (size_t pc = 0; pc < n; pc++) {
                const struct sock_filter *i = &f[pc];

                if (i->code == (BPF_LD | BPF_W | BPF_ABS)) {
                        if (i->k != NR && i->k != ARCH) {
                                *ret = (Range){.from = nr, .pc = (int)pc};
                                return 0;
                        }
                        a = i->k == NR ? nr : arch;
                } else if (i->code == (BPF_RET | BPF_K)) {
                        *ret = (Range){.from = nr, .pc = -1, .k = i->k};
                        return 0;
                } else if (i->code == (BPF_JMP | BPF_JA)) {
                        pc += i->k;
                } else if (tree_is_comparison(i->code)) {
                        pc += tree_compare_holds(i, a) ? i->jt : i->jf;
                } else {
                        return -EOPNOTSUPP;
                }
        }
        return -EOPNOTSUPP;
}

static int tree_by_number(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return (x > y) - (x < y);
}

/* Between two neighbours of these numbers no comparison of the program changes its answer. *ret is owned. */
static int tree_find_ranges(const struct sock_filter *f, size_t n, uint32_t arch, Range **ret, size_t *ret_n) {
        _cleanup_free_ uint32_t *edges = calloc(2 * n + 1, sizeof(*edges));
        _cleanup_free_ Range *ranges = calloc(2 * n + 1, sizeof(*ranges));
        size_t n_edges = 1, n_ranges = 0;

        if (!edges || !ranges)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (tree_is_comparison(f[i].code)) {
                        edges[n_edges++] = f[i].k;
                        if (f[i].k != UINT32_MAX)
                                edges[n_edges++] = f[i].k + 1;
                }
        qsort(edges, n_edges, sizeof(*edges), tree_by_number);
        for (size_t i = 0; i < n_edges; i++) {
                Range r;
                int e = tree_run(f, n, arch, edges[i], &r);

                if (e < 0)
                        return e;
                if (n_ranges == 0 || ranges[n_ranges - 1].pc != r.pc || ranges[n_ranges - 1].k != r.k)
                        ranges[n_ranges++] = r;
        }
        *ret = TAKE_PTR(ranges);
        *ret_n = n_ranges;
        return 0;
}

static int tree_put(Maker *m, uint16_t code, int jt, int jf, uint32_t k) {
        if (m->n >= BPF_MAXINSNS) {
                m->failed = true;
                return 0;
        }
        m->out[m->n] = (struct sock_filter){.code = code, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k};
        return m->n++;
}

static bool tree_in_reach(const Maker *m, int at) {
        return m->n - at - 1 <= JUMP_MAX;
}

/* The place at which the next instruction continues with `at`: a jump is added where needed. */
static int tree_jump_to(Maker *m, int at) {
        return m->n - at - 1 == 0 ? at : tree_put(m, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(m->n - at - 1));
}

static int tree_compare(Maker *m, uint16_t code, uint32_t k, int yes, int no) {
        while (!m->failed && (!tree_in_reach(m, yes) || !tree_in_reach(m, no))) {
                if (!tree_in_reach(m, yes))
                        yes = tree_jump_to(m, yes);
                if (!tree_in_reach(m, no))
                        no = tree_jump_to(m, no);
        }
        return tree_put(m, code, m->n - yes - 1, m->n - no - 1, k);
}

/* The nearest place that returns k. */
static int tree_return(Maker *m, uint32_t k) {
        size_t i = 0;

        while (i < m->n_returned && m->returned[i].k != k)
                i++;
        if (i < m->n_returned && tree_in_reach(m, m->returned[i].at))
                return m->returned[i].at;
        if (i == ARRAY_SIZE(m->returned)) {
                m->failed = true;
                return 0;
        }
        m->returned[i].k = k;
        m->returned[i].at = tree_put(m, BPF_RET | BPF_K, 0, 0, k);
        m->n_returned = MAX(m->n_returned, i + 1);
        return m->returned[i].at;
}

/* Skips useless comparisons from pc on. libseccomp compares the upper halves of arguments even when the rule has no bit
 * there: load, mask with 0, equal to 0. The next instruction must not need that 0 in the accumulator. */
static size_t tree_skip_useless(const Maker *m, size_t pc) {
        for (;;) {
                const struct sock_filter *i = &m->in[pc];
                size_t to;

                if (i->code == (BPF_JMP | BPF_JA)) {
                        pc += 1 + i->k;
                        continue;
                }
                if (pc + 2 >= m->n_in || i->code != (BPF_LD | BPF_W | BPF_ABS) ||
                    i[1].code != (BPF_ALU | BPF_AND | BPF_K) || i[1].k != 0 ||
                    i[2].code != (BPF_JMP | BPF_JEQ | BPF_K) || i[2].k != 0)
                        return pc;
                to = pc + 3 + i[2].jt;
                while (to < m->n_in && m->in[to].code == (BPF_JMP | BPF_JA))
                        to += 1 + m->in[to].k;
                if (to >= m->n_in ||
                    (m->in[to].code != (BPF_LD | BPF_W | BPF_ABS) && m->in[to].code != (BPF_RET | BPF_K)))
                        return pc;
                pc = to;
        }
}

/* Copies the original's piece from pc on. Jumps go only forwards: the number of instructions bounds the recursion. */
static int tree_copy_piece(Maker *m, size_t pc) {
        const struct sock_filter *i;
        int at, yes, no;

        pc = tree_skip_useless(m, pc);
        if (m->failed || pc >= m->n_in) {
                m->failed = true;
                return 0;
        }
        i = &m->in[pc];
        if (i->code == (BPF_RET | BPF_K))
                return tree_return(m, i->k);
        if (m->placed[pc] >= 0)
                return m->placed[pc];
        if (tree_is_comparison(i->code)) {
                no = tree_copy_piece(m, pc + 1 + i->jf);
                yes = tree_copy_piece(m, pc + 1 + i->jt);
                at = tree_compare(m, i->code, i->k, yes, no);
        } else if (i->code == (BPF_LD | BPF_W | BPF_ABS) || i->code == (BPF_ALU | BPF_AND | BPF_K)) {
                at = tree_jump_to(m, tree_copy_piece(m, pc + 1));
                if (i->code != (BPF_ALU | BPF_AND | BPF_K) || i->k != UINT32_MAX)
                        at = tree_put(m, i->code, 0, 0, i->k);
        } else {
                m->failed = true;
                return 0;
        }
        m->placed[pc] = at;
        return at;
}

static int tree_target(Maker *m, const Range *r) {
        return r->pc < 0 ? tree_return(m, r->k) : tree_copy_piece(m, (size_t)r->pc);
}

static bool tree_same_range(const Range *a, const Range *b) {
        return a->pc == b->pc && a->k == b->k;
}

/* Comparisons of a chain: most ranges are like r[like], each other range is compared separately. The last range has no
 * end, the first needs no beginning. Returns the number, or CHAIN_MAX + 1 for too many. */
static int tree_chain_length(const Range *r, size_t n, size_t like) {
        int length = 0;

        for (size_t i = 0; i < n && length <= CHAIN_MAX; i++)
                if (!tree_same_range(&r[i], &r[like]))
                        length += i == 0 || i + 1 == n || r[i + 1].from - r[i].from == 1 ? 1 : 2;
        return MIN(length, CHAIN_MAX + 1);
}

static int tree_chain(Maker *m, const Range *r, size_t n, size_t like) {
        int at = tree_target(m, &r[like]);

        for (size_t i = 0; i < n; i++) {
                int found, next = at;

                if (tree_same_range(&r[i], &r[like]))
                        continue;
                found = tree_target(m, &r[i]);
                if (i == 0)
                        at = tree_compare(m, BPF_JMP | BPF_JGE | BPF_K, r[1].from, next, found);
                else if (i + 1 == n)
                        at = tree_compare(m, BPF_JMP | BPF_JGE | BPF_K, r[i].from, found, next);
                else if (r[i + 1].from - r[i].from == 1)
                        at = tree_compare(m, BPF_JMP | BPF_JEQ | BPF_K, r[i].from, found, next);
                else {
                        at = tree_compare(m, BPF_JMP | BPF_JGE | BPF_K, r[i + 1].from, next, found);
                        at = tree_compare(m, BPF_JMP | BPF_JGE | BPF_K, r[i].from, at, next);
                }
        }
        return at;
}

/* For every stretch of ranges the fewest comparisons, by a chain or by a cut into two. */
typedef struct Choice {
        uint16_t cost;
        uint16_t cut; /* 0: a chain */
        uint16_t like;
} Choice;

#define AT(choice, n, from, to) (&(choice)[(size_t)(from) * ((n) + 1) + (to)])

static Choice tree_choose(const Choice *made, const Range *r, size_t n, size_t from, size_t to) {
        Choice best = {.cost = UINT16_MAX};

        /* most ranges are like one of the first three, or the chain is bad */
        for (size_t i = from; i < to && i < from + 3; i++) {
                int length = tree_chain_length(r + from, to - from, i - from);

                if (length <= CHAIN_MAX && length < best.cost)
                        best = (Choice){.cost = (uint16_t)length, .like = (uint16_t)(i - from)};
        }
        for (size_t cut = from + 1; cut < to; cut++) {
                unsigned cost = AT(made, n, from, cut)->cost + AT(made, n, cut, to)->cost + 1U;

                if (cost < best.cost)
                        best = (Choice){.cost = (uint16_t)cost, .cut = (uint16_t)cut};
        }
        return best;
}

static int tree_build(Maker *m, const Choice *made, const Range *r, size_t n, size_t from, size_t to) {
        const Choice *c = AT(made, n, from, to);
        int low, high;

        if (c->cut == 0)
                return tree_chain(m, r + from, to - from, c->like);
        high = tree_build(m, made, r, n, c->cut, to);
        low = tree_build(m, made, r, n, from, c->cut);
        return tree_compare(m, BPF_JMP | BPF_JGE | BPF_K, r[c->cut].from, high, low);
}

static int tree_make(Maker *m, uint32_t arch, const Range *r, size_t n, uint32_t foreign) {
        _cleanup_free_ Choice *made = calloc((n + 1) * (n + 1), sizeof(*made));
        int at;

        if (!made)
                return -ENOMEM;
        for (size_t length = 1; length <= n; length++)
                for (size_t from = 0; from + length <= n; from++)
                        *AT(made, n, from, from + length) = tree_choose(made, r, n, from, from + length);
        at = tree_build(m, made, r, n, 0, n);
        at = tree_jump_to(m, at);
        at = tree_put(m, BPF_LD | BPF_W | BPF_ABS, 0, 0, NR);
        at = tree_compare(m, BPF_JMP | BPF_JEQ | BPF_K, arch, at, tree_return(m, foreign));
        tree_jump_to(m, at);
        tree_put(m, BPF_LD | BPF_W | BPF_ABS, 0, 0, ARCH);
        return m->failed ? -EOPNOTSUPP : 0;
}

int filter_shorten(uint32_t arch, struct sock_filter **filter, size_t *n_filter) {
        _cleanup_free_ Range *ranges = NULL;
        _cleanup_free_ Maker *m = calloc(1, sizeof(*m));
        _cleanup_free_ struct sock_filter *made = NULL;
        Range foreign;
        size_t n;
        int e;

        if (!m)
                return -ENOMEM;
        m->in = *filter;
        m->n_in = *n_filter;
        if (m->n_in == 0 || m->n_in > BPF_MAXINSNS)
                return -EINVAL;
        for (size_t i = 0; i < m->n_in; i++)
                m->placed[i] = -1;
        /* For every number of another architecture the answer has to be the same. */
        e = tree_find_ranges(m->in, m->n_in, ~arch, &ranges, &n);
        if (e < 0)
                return e;
        foreign = ranges[0];
        if (n != 1 || foreign.pc >= 0)
                return -EOPNOTSUPP;
        free(TAKE_PTR(ranges));
        e = tree_find_ranges(m->in, m->n_in, arch, &ranges, &n);
        e = e ?: tree_make(m, arch, ranges, n, foreign.k);
        if (e < 0)
                return e;
        if ((size_t)m->n >= m->n_in)
                return 0;
        made = calloc((size_t)m->n, sizeof(*made));
        if (!made)
                return -ENOMEM;
        for (int i = 0; i < m->n; i++)
                made[i] = m->out[m->n - 1 - i];
        free(*filter);
        *filter = TAKE_PTR(made);
        *n_filter = (size_t)m->n;
        return 0;
}
