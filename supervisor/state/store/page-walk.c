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

typedef struct PageWalk {
        const uint8_t *map; /* the file */
        uint64_t n_map;
        uint32_t size; /* of a page */
        uint64_t n_pages;
        uint8_t *used; /* one bit a page */
        Diag *d;
} PageWalk;

typedef struct PageHead {
        uint64_t number;
        uint16_t pad, flags, lower, upper;
} PageHead;

typedef struct PageNode {
        uint32_t n_data;
        uint16_t flags, n_key;
        uint64_t child; /* of a branch */
        const uint8_t *key, *data;
        size_t room; /* in its page */
} PageNode;

static int page_bad(PageWalk *w, uint64_t page, const char *what) {
        return diag(w->d, 1, "page %" PRIu64 ": %s", page, what);
}

static uint16_t page_u16(const uint8_t *p) {
        uint16_t v;

        memcpy(&v, p, sizeof(v));
        return v;
}

static uint64_t page_u64(const uint8_t *p) {
        uint64_t v;

        memcpy(&v, p, sizeof(v));
        return v;
}

static int page_mark(PageWalk *w, uint64_t page) {
        if (page < 2 || page >= w->n_pages)
                return page_bad(w, page, "is beyond the last page");
        if (w->used[page / 8] & 1U << page % 8)
                return page_bad(w, page, "is used twice");
        w->used[page / 8] |= (uint8_t)(1U << page % 8);
        return 0;
}

/* n bytes from the start of a page below n_pages; NULL: beyond the file's end. */
static const uint8_t *page_bytes(const PageWalk *w, uint64_t page, uint64_t n) {
        uint64_t at = page * w->size;

        return at <= w->n_map && n <= w->n_map - at ? w->map + at : NULL;
}

static int page_read(PageWalk *w, uint64_t page, const uint8_t **ret_bytes, PageHead *ret) {
        int r = page_mark(w, page);

        if (r != 0)
                return r;
        *ret_bytes = page_bytes(w, page, w->size);
        if (!*ret_bytes)
                return page_bad(w, page, "is beyond the end of the file");
        memcpy(ret, *ret_bytes, sizeof(*ret));
        if (ret->number != page)
                return page_bad(w, page, "has the number of another page");
        return 0;
}

/* Value pages: one header, then bytes to the end of the last page. */
static int page_overflow(PageWalk *w, uint64_t first, uint64_t n_data, const uint8_t **ret) {
        const uint8_t *head;
        uint64_t n = (n_data + PAGE_HEADER + w->size - 1) / w->size;
        uint32_t said;
        int r;

        for (uint64_t i = 0; i < n; i++) {
                r = page_mark(w, first + i);
                if (r != 0)
                        return r;
        }
        head = page_bytes(w, first, PAGE_HEADER + n_data);
        if (!head)
                return page_bad(w, first, "has a value beyond the end of the file");
        memcpy(&said, head + 12, sizeof(said));
        if (page_u64(head) != first || page_u16(head + 10) != PAGE_OVERFLOW || said != n)
                return page_bad(w, first, "is not the first page of its value");
        *ret = head + PAGE_HEADER;
        return 0;
}

static int page_node(PageWalk *w, uint64_t page, const uint8_t *p, const PageHead *h, unsigned i, PageNode *ret) {
        size_t at = page_u16(p + PAGE_HEADER + 2 * i), need;
        bool leaf = h->flags == PAGE_LEAF;

        if (at < h->upper || at + NODE_HEADER > w->size || at % 2)
                return page_bad(w, page, "has a node outside of the page");
        *ret = (PageNode){.n_data = (uint32_t)page_u16(p + at) | (uint32_t)page_u16(p + at + 2) << 16,
                      .flags = page_u16(p + at + 4),
                      .n_key = page_u16(p + at + 6)};
        ret->child = ret->n_data | (uint64_t)ret->flags << 32;
        ret->key = p + at + NODE_HEADER;
        ret->data = ret->key + ret->n_key;
        need = NODE_HEADER + ret->n_key + (!leaf ? 0 : ret->flags & NODE_BIG ? 8 : ret->n_data);
        if (at + need > w->size)
                return page_bad(w, page, "has a node across the end of the page");
        ret->room = need + (need & 1);
        if (leaf && (ret->flags & ~(NODE_BIG | NODE_TABLE)))
                return page_bad(w, page, "has a node of an unknown kind");
        return 0;
}

typedef enum PageKind { KIND_FREE, KIND_MAIN, KIND_TABLE } PageKind;

/* A row of the free list: pages freed by a commit. */
static int page_free_list(PageWalk *w, uint64_t page, const uint8_t *data, uint64_t n) {
        if (n < 8 || page_u64(data) != n / 8 - 1 || n % 8)
                return page_bad(w, page, "has a list of free pages with a wrong length");
        for (uint64_t i = 1; i < n / 8; i++) {
                int r = page_mark(w, page_u64(data + 8 * i));

                if (r != 0)
                        return r;
        }
        return 0;
}

static int page_tree(PageWalk *w, const MetaTable *t, PageKind kind);

static int page_leaf_node(PageWalk *w, uint64_t page, const PageNode *n, PageKind kind) {
        const uint8_t *data = n->data;
        MetaTable t;
        int r = 0;

        if (n->flags & NODE_BIG)
                r = page_overflow(w, page_u64(n->data), n->n_data, &data);
        if (r == 0 && kind == KIND_FREE)
                r = page_free_list(w, page, data, n->n_data);
        if (r == 0 && (kind == KIND_MAIN) != !!(n->flags & NODE_TABLE))
                r = page_bad(w, page, "has a table in place of a value, or a value in place of a table");
        if (r == 0 && kind == KIND_MAIN) {
                if (n->n_data != sizeof(t))
                        r = page_bad(w, page, "has a table of a wrong length");
                else {
                        memcpy(&t, data, sizeof(t));
                        r = page_tree(w, &t, KIND_TABLE);
                }
        }
        return r;
}

static int page_order(PageWalk *w, uint64_t page, const PageNode *a, const PageNode *b, PageKind kind) {
        int c;

        if (kind == KIND_FREE)
                return a->n_key == 8 && b->n_key == 8 && page_u64(a->key) < page_u64(b->key)
                               ? 0
                               : page_bad(w, page, "has free lists out of order");
        c = memcmp(a->key, b->key, MIN(a->n_key, b->n_key));
        return c < 0 || (c == 0 && a->n_key < b->n_key) ? 0 : page_bad(w, page, "has keys out of order");
}

static int page_subtree(PageWalk *w, uint64_t page, unsigned depth, PageKind kind, uint64_t *entries) {
        const uint8_t *p;
        PageNode n, last = {0};
        size_t room = 0;
        unsigned keys;
        PageHead h;
        int r;

        if (depth == 0)
                return page_bad(w, page, "is deeper than the depth of its table");
        r = page_read(w, page, &p, &h);
        if (r == 0 && h.flags != PAGE_BRANCH && h.flags != PAGE_LEAF)
                r = page_bad(w, page, "is neither a branch nor a leaf");
        if (r == 0 && (h.flags == PAGE_LEAF) != (depth == 1))
                r = page_bad(w, page, "is not at its level");
        if (r == 0 && (h.lower < PAGE_HEADER || h.lower > h.upper || h.upper > w->size || (h.lower - PAGE_HEADER) % 2 ||
                       h.lower == PAGE_HEADER))
                r = page_bad(w, page, "has impossible bounds");
        keys = r == 0 ? (h.lower - PAGE_HEADER) / 2U : 0;
        for (unsigned i = 0; r == 0 && i < keys; i++) {
                r = page_node(w, page, p, &h, i, &n);
                /* The first key of a branch is unused, and may be empty. */
                if (r == 0 && i > (h.flags == PAGE_BRANCH ? 1 : 0))
                        r = page_order(w, page, &last, &n, kind);
                if (r == 0)
                        r = h.flags == PAGE_BRANCH ? page_subtree(w, n.child, depth - 1, kind, entries)
                                                   : page_leaf_node(w, page, &n, kind);
                if (r == 0 && h.flags == PAGE_LEAF)
                        ++*entries;
                last = n;
                room += n.room;
        }
        /* LMDB closes the gap after each deleted node. */
        if (r == 0 && room != w->size - h.upper)
                r = page_bad(w, page, "has more or fewer bytes in use than its nodes");
        return r;
}

static int page_tree(PageWalk *w, const MetaTable *t, PageKind kind) {
        uint64_t entries = 0;
        int r;

        if (t->root == UINT64_MAX)
                return t->entries == 0 ? 0 : diag(w->d, 1, "a table without pages counts %" PRIu64 " rows", t->entries);
        if (t->depth == 0 || t->depth > DEPTH_MOST)
                return diag(w->d, 1, "a table of depth %u", t->depth);
        r = page_subtree(w, t->root, t->depth, kind, &entries);
        if (r == 0 && entries != t->entries)
                return diag(w->d, 1, "a table counts %" PRIu64 " rows and has %" PRIu64, t->entries, entries);
        return r;
}

int page_walk(int fd, const Meta *m, uint32_t page_size, Diag *reterr) {
        PageWalk w = {.size = page_size, .n_pages = m->last_page + 1, .d = reterr};
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
                r = page_tree(&w, &m->tables[1], KIND_MAIN) ?: page_tree(&w, &m->tables[0], KIND_FREE);
        free(w.used);
        munmap(map, w.n_map);
        return r;
}
