/* A rule of Landlock's keeps a deleted file, with all its data, where no descriptor and no mapping shows it. */
#include "attack.h"

#include <linux/landlock.h>

int main(void) {
        struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE};
        struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE};
        int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);

        if (set < 0)
                contained("landlock_create_ruleset");
        rule.parent_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                contained("landlock_add_rule");
        escaped("a rule about a file was made");
}
