/* Fields of /proc are found however long the lines before them are (I-66). */
#include "base/proc.h"

#include <criterion/criterion.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS 2000 /* of ten digits each: five times the room of those who read */

Test(proc, a_user_of_many_groups) {
        static gid_t list[GROUPS];
        char text[4096];

        for (size_t i = 0; i < GROUPS; i++)
                list[i] = (gid_t)(4000000000 + i);
        if (setgroups(GROUPS, list) < 0)
                cr_skip("needs root to have groups");
        cr_assert_gt(proc_read_status(PROC_PATH("%d/status", getpid()), text, sizeof(text)), 0);
        cr_assert(strncmp(text, "Name:", 5) == 0);
        cr_assert_null(strstr(text, "Groups:"));
        for (const char *const *key = (const char *const[]){"\nTgid:", "\nVmData:", "\nThreads:", "\nSigBlk:", "\nSeccomp:", "\nvoluntary_ctxt_switches:", NULL}; *key; key++)
                cr_assert_not_null(strstr(text, *key), "%s of %s", *key, text);
        cr_assert_eq(strtoul(strstr(text, "\nTgid:") + 6, NULL, 10), (unsigned long)getpid());
        cr_assert_geq(strtoul(strstr(text, "\nThreads:") + 9, NULL, 10), 1);
}

/* The room is respected, and the text ends with a NUL. */
Test(proc, little_room) {
        char text[16];

        memset(text, 'x', sizeof(text));
        cr_assert_eq(proc_read_status(PROC_PATH("%d/status", getpid()), text, sizeof(text)), sizeof(text) - 1);
        cr_assert_eq(strlen(text), sizeof(text) - 1);
        cr_assert_eq(proc_read_status("/proc/self/nothing", text, sizeof(text)), 0);
        cr_assert_eq(*text, 0);
}
