#include "cognition/ccs-check.h"
#include "cognition/ccs-text.h"
#include "random-state.h"

#include <errno.h>
#include <string.h>

static size_t left = SIZE_MAX; /* allocations until one fails */

static bool fails(void) {
        return left != SIZE_MAX && left-- == 0;
}

char *__real_strndup(const char *s, size_t n);
char *__real_strdup(const char *s);
void *__real_calloc(size_t n, size_t size);
char *__wrap_strndup(const char *s, size_t n);
char *__wrap_strdup(const char *s);
void *__wrap_calloc(size_t n, size_t size);

char *__wrap_strndup(const char *s, size_t n) {
        return fails() ? NULL : __real_strndup(s, n);
}
char *__wrap_strdup(const char *s) {
        return fails() ? NULL : __real_strdup(s);
}
void *__wrap_calloc(size_t n, size_t size) {
        return fails() ? NULL : __real_calloc(n, size);
}

/* All that allocates, once. */
static int turn(const Ccs *before, const char *text, size_t n) {
        const CcsSource source = {.text = text, .n = n, .rank = CCS_RANK_UNVERIFIED, .turn = true};
        const CcsGround ground = {.before = before, .sources = &source, .n = 1};
        _cleanup_ccs_ Ccs c = CCS_NULL, copy = CCS_NULL, evicted = CCS_NULL;
        size_t changed;

        return ccs_parse(text, n, &c, NULL) ?: ccs_copy(&c, &copy) ?: ccs_add(&copy, CCS_EPISODIC_TRACE, "said(new)", NULL) ?:
               ccs_add(&copy, CCS_FOCAL_ENTITIES, "other(web1)", NULL) ?: ccs_check_grounding(&c, &ground, true, &changed, NULL) ?:
               ccs_check_episodic(&c, &ground, NULL) ?: ccs_check_verified(&c, &ground, false, &changed, NULL) ?:
               ccs_check_authority(before, &ground, NULL) ?: ccs_fit(&copy, &(CcsBound){300, 100}, &evicted, NULL);
}

// C-16: an allocation that fails is told, at each place, and nothing is lost
Test(no_memory, each) {
        static const char text[] = "episodic_trace: said(a)\nsemantic_gist: watch(web1)\nfocal_entities: host(web1); day(Friday)\n"
                                   "relational_map: owner(web1 anna); cause(a, b); timing(b after(a))\ngoal_orientation: watch(web1)\n"
                                   "constraints: must(user, watch web1)\npredictive_cue: ask(day)\nuncertainty_signal: level(low); gap(a)\nretrieved_artifacts: log(ev1@1)\n";
        _cleanup_ccs_ Ccs before = CCS_NULL;
        size_t k = 0;
        int e;

        cr_assert_eq(ccs_parse(text, strlen(text), &before, NULL), 0);
        ccs_remove(&before, CCS_RELATIONAL_MAP, 0);
        do {
                left = k++;
                e = turn(&before, text, strlen(text));
                cr_assert(e == 0 || e == -ENOMEM, "allocation %zu: %d", k, e);
        } while (e != 0 && k < 1000);
        left = SIZE_MAX;
        cr_expect(k > 25 && k < 1000, "%zu allocations", k);
}
