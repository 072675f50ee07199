/* Control groups that no record names yet. A folder that is named as one stands for it: nothing is in it, and it can be removed. */
#include "prefork/groups.h"
#include "tests/support/child.h"
#include "tests/support/store-fixture.h"

#include <string.h>
#include <sys/stat.h>

static const char *const regions[] = {"01m801b9dqw3bpwb7gxgsmfe70", "01m801b9dqw3bpwb7gxgsmfe71", "01m801b9dqw3bpwb7gxgsmfe72"};

typedef struct Where {
        const char *store, *groups[3];
} Where;

static void add(PoolNotes *n, const Where *w) {
        for (size_t i = 0; i < 3; i++)
                child_check(mkdir(w->groups[i], 0755) == 0 && pool_notes_add(n, regions[i], w->groups[i]) == 0);
        pool_notes_drop(n, regions[1]); /* recorded, and over */
}

/* A supervisor that goes without a word. */
static int dies(void *arg) {
        const Where *w = arg;
        PoolNotes n;
        Store *s;
        Diag d = {};

        child_check(store_open(w->store, STORE_SUPERVISE, &s, &d) == 0 && pool_notes_open(&n, s) == 0);
        add(&n, w);
        return 0;
}

static void places(const StoreFixture *f, Where *ret, char text[3][PATH_MAX]) {
        ret->store = f->dir;
        for (size_t i = 0; i < 3; i++) {
                snprintf(text[i], PATH_MAX, "%.4000s/lethe-%s", f->temp.path, regions[i]);
                ret->groups[i] = text[i];
        }
}

Test(pool_notes, what_a_dead_supervisor_noted_is_removed) { // I-60
        char text[3][PATH_MAX];
        StoreFixture f;
        Where w;

        store_fixture_init(&f, STORE_SUPERVISE);
        places(&f, &w, text);
        store_fixture_close(&f);
        child_assert_ok(dies, &w);
        cr_assert(access(text[0], F_OK) == 0 && access(text[2], F_OK) == 0);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_eq(pool_notes_recover(f.store), 0);
        cr_assert(access(text[0], F_OK) < 0 && access(text[2], F_OK) < 0);
        cr_assert(access(text[1], F_OK) == 0, "what was no longer noted is somebody else's");
        cr_assert_eq(pool_notes_recover(f.store), 0);
        store_fixture_deinit(&f);
}

Test(pool_notes, what_a_living_one_noted_stays) {
        char text[3][PATH_MAX];
        StoreFixture f;
        PoolNotes n;
        Where w;

        store_fixture_init(&f, STORE_SUPERVISE);
        places(&f, &w, text);
        cr_assert_eq(pool_notes_open(&n, f.store), 0);
        add(&n, &w);
        cr_assert_eq(pool_notes_recover(f.store), 0);
        cr_assert(access(text[0], F_OK) == 0 && access(text[2], F_OK) == 0);
        pool_notes_close(&n);
        cr_assert(access(n.path, F_OK) < 0);
        store_fixture_deinit(&f);
}
