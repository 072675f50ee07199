#include "store/datafile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE_BRANCH 0x01U
#define PAGE_LEAF 0x02U
#define PAGE_OVERFLOW 0x04U
#define NODE_HEADER 8
#define NODE_BIG 0x01U   /* the value stands in pages of its own */
#define NODE_TABLE 0x02U /* the value is a MetaTable */
#define DEPTH_MOST 32

typedef struct Walk {
        const uint8_t *map; /* the file */
        uint64_t n_map;
        uint32_t size; /* of a page */
        uint64_t n_pages;
        uint8_t *used; /* one bit a page */
        Diag *d;
} Walk;

typedef struct Head {
        uint64_t number;
        uint16_t pad, flags, lower, upper;
} Head;

typedef struct Node {
        uint32_t n_data;
        uint16_t flags, n_key;
        uint64_t child; /* of a branch */
        const uint8_t *key, *data;
        size_t room; /* that it takes in its page */
} Node;

static int bad(Walk *w, uint64_t page, const char *what) {
        return diag(w->d, 1, "page %" PRIu64 ": %s", page, what);
}

static uint16_t u16(const uint8_t *p) {
        uint16_t v;

        memcpy(&v, p, sizeof(v));
        return v;
}

static uint64_t u64(const uint8_t *p) {
        uint64_t v;

        memcpy(&v, p, sizeof(v));
        return v;
}

static int mark(Walk *w, uint64_t page) {
        if (page < 2 || page >= w->n_pages)
                return bad(w, page, "is beyond the last page");
        if (w->used[page / 8] & 1U << page % 8)
                return bad(w, page, "is used twice");
        w->used[page / 8] |= (uint8_t)(1U << page % 8);
        return 0;
}

/* n bytes from the start of the page, which is below n_pages; NULL when the file ends before. */
static const uint8_t *bytes_of(const Walk *w, uint64_t page, uint64_t n) {
        uint64_t at = page * w->size;

        return at <= w->n_map && n <= w->n_map - at ? w->map + at : NULL;
}

static int read_page(Walk *w, uint64_t page, const uint8_t **ret_bytes, Head *ret) {
        int r = mark(w, page);

        if (r != 0)
                return r;
        *ret_bytes = bytes_of(w, page, w->size);
        if (!*ret_bytes)
                return bad(w, page, "is beyond the end of the file");
        memcpy(ret, *ret_bytes, sizeof(*ret));
        if (ret->number != page)
                return bad(w, page, "has another page's number");
        return 0;
}

/* Value pages: one header, then bytes to the end of the last page. */
static int overflow(Walk *w, uint64_t first, uint64_t n_data, const uint8_t **ret) {
        const uint8_t *head;
        uint64_t n = (n_data + PAGE_HEADER + w->size - 1) / w->size;
        uint32_t said;
        int r;

        for (uint64_t i = 0; i < n; i++) {
                r = mark(w, first + i);
                if (r != 0)
                        return r;
        }
        head = bytes_of(w, first, PAGE_HEADER + n_data);
        if (!head)
                return bad(w, first, "has a value that is beyond the end of the file");
        memcpy(&said, head + 12, sizeof(said));
        if (u64(head) != first || u16(head + 10) != PAGE_OVERFLOW || said != n)
                return bad(w, first, "is not the first page of the value that is said to be there");
        *ret = head + PAGE_HEADER;
        return 0;
}

static int node_at(Walk *w, uint64_t page, const uint8_t *p, const Head *h, unsigned i, Node *ret) {
        size_t at = u16(p + PAGE_HEADER + 2 * i), need;
        bool leaf = h->flags == PAGE_LEAF;

        if (at < h->upper || at + NODE_HEADER > w->size || at % 2)
                return bad(w, page, "has a node outside of it");
        *ret = (Node){.n_data = (uint32_t)u16(p + at) | (uint32_t)u16(p + at + 2) << 16,
                      .flags = u16(p + at + 4),
                      .n_key = u16(p + at + 6)};
        ret->child = ret->n_data | (uint64_t)ret->flags << 32;
        ret->key = p + at + NODE_HEADER;
        ret->data = ret->key + ret->n_key;
        need = NODE_HEADER + ret->n_key + (!leaf ? 0 : ret->flags & NODE_BIG ? 8 : ret->n_data);
        if (at + need > w->size)
                return bad(w, page, "has a node that runs out of it");
        ret->room = need + (need & 1);
        if (leaf && (ret->flags & ~(NODE_BIG | NODE_TABLE)))
                return bad(w, page, "has a node of a kind that is never written");
        return 0;
}

typedef enum Kind { KIND_FREE, KIND_MAIN, KIND_TABLE } Kind;

/* A row of the free list: pages that a commit let go. */
static int free_row(Walk *w, uint64_t page, const uint8_t *data, uint64_t n) {
        if (n < 8 || u64(data) != n / 8 - 1 || n % 8)
                return bad(w, page, "has a list of free pages of another length than it says");
        for (uint64_t i = 1; i < n / 8; i++) {
                int r = mark(w, u64(data + 8 * i));

                if (r != 0)
                        return r;
        }
        return 0;
}

static int tree(Walk *w, const MetaTable *t, Kind kind);

static int leaf_node(Walk *w, uint64_t page, const Node *n, Kind kind) {
        const uint8_t *data = n->data;
        MetaTable t;
        int r = 0;

        if (n->flags & NODE_BIG)
                r = overflow(w, u64(n->data), n->n_data, &data);
        if (r == 0 && kind == KIND_FREE)
                r = free_row(w, page, data, n->n_data);
        if (r == 0 && (kind == KIND_MAIN) != !!(n->flags & NODE_TABLE))
                r = bad(w, page, "has a table where none is, or a value in place of one");
        if (r == 0 && kind == KIND_MAIN) {
                if (n->n_data != sizeof(t))
                        r = bad(w, page, "has a table of a wrong length");
                else {
                        memcpy(&t, data, sizeof(t));
                        r = tree(w, &t, KIND_TABLE);
                }
        }
        return r;
}

static int order(Walk *w, uint64_t page, const Node *a, const Node *b, Kind kind) {
        int c;

        if (kind == KIND_FREE)
                return a->n_key == 8 && b->n_key == 8 && u64(a->key) < u64(b->key)
                               ? 0
                               : bad(w, page, "has its free lists out of order");
        c = memcmp(a->key, b->key, MIN(a->n_key, b->n_key));
        return c < 0 || (c == 0 && a->n_key < b->n_key) ? 0 : bad(w, page, "has its keys out of order");
}

static int subtree(Walk *w, uint64_t page, unsigned depth, Kind kind, uint64_t *entries) {
        const uint8_t *p;
        Node n, last = {0};
        size_t room = 0;
        unsigned keys;
        Head h;
        int r;

        if (depth == 0)
                return bad(w, page, "is deeper than its table says");
        r = read_page(w, page, &p, &h);
        if (r == 0 && h.flags != PAGE_BRANCH && h.flags != PAGE_LEAF)
                r = bad(w, page, "is neither a branch nor a leaf");
        if (r == 0 && (h.flags == PAGE_LEAF) != (depth == 1))
                r = bad(w, page, "is not at its level");
        if (r == 0 && (h.lower < PAGE_HEADER || h.lower > h.upper || h.upper > w->size || (h.lower - PAGE_HEADER) % 2 ||
                       h.lower == PAGE_HEADER))
                r = bad(w, page, "has bounds that cannot be");
        keys = r == 0 ? (h.lower - PAGE_HEADER) / 2U : 0;
        for (unsigned i = 0; r == 0 && i < keys; i++) {
                r = node_at(w, page, p, &h, i, &n);
                /* The first key of a branch is not looked at, and may be empty. */
                if (r == 0 && i > (h.flags == PAGE_BRANCH ? 1 : 0))
                        r = order(w, page, &last, &n, kind);
                if (r == 0)
                        r = h.flags == PAGE_BRANCH ? subtree(w, n.child, depth - 1, kind, entries)
                                                   : leaf_node(w, page, &n, kind);
                if (r == 0 && h.flags == PAGE_LEAF)
                        ++*entries;
                last = n;
                room += n.room;
        }
        /* LMDB moves the nodes together whenever one goes: it leaves no gap. */
        if (r == 0 && room != w->size - h.upper)
                r = bad(w, page, "has another number of bytes in use than its nodes have");
        return r;
}

static int tree(Walk *w, const MetaTable *t, Kind kind) {
        uint64_t entries = 0;
        int r;

        if (t->root == UINT64_MAX)
                return t->entries == 0 ? 0 : diag(w->d, 1, "a table without pages counts %" PRIu64 " rows", t->entries);
        if (t->depth == 0 || t->depth > DEPTH_MOST)
                return diag(w->d, 1, "a table of depth %u", t->depth);
        r = subtree(w, t->root, t->depth, kind, &entries);
        if (r == 0 && entries != t->entries)
                return diag(w->d, 1, "a table counts %" PRIu64 " rows and has %" PRIu64, t->entries, entries);
        return r;
}

int datafile_walk(int fd, const Meta *m, uint32_t page_size, Diag *reterr) {
        Walk w = {.size = page_size, .n_pages = m->last_page + 1, .d = reterr};
        struct stat st;
        void *map;
        int r;

        if (m->last_page > UINT64_C(1) << 40)
                return diag(reterr, 1, "the meta page counts %" PRIu64 " pages", m->last_page);
        if (fstat(fd, &st) < 0)
                return -errno;
        w.n_map = MIN((uint64_t)st.st_size, w.n_pages * page_size);
        map = mmap(NULL, w.n_map, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
                return -errno;
        w.map = map;
        w.used = calloc(1, w.n_pages / 8 + 1);
        r = w.used ? 0 : -ENOMEM;
        if (r == 0)
                r = tree(&w, &m->tables[1], KIND_MAIN);
        if (r == 0)
                r = tree(&w, &m->tables[0], KIND_FREE);
        free(w.used);
        munmap(map, w.n_map);
        return r;
}
