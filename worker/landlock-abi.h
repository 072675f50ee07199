/* Runs: worker. Landlock as the kernel's documentation defines it (userspace-api/landlock), up to ABI 6: the headers of Debian 12 stop
 * at ABI 2. */
#pragma once

#include <stdint.h>

#define LL_EXECUTE (1ULL << 0)
#define LL_WRITE_FILE (1ULL << 1)
#define LL_READ_FILE (1ULL << 2)
#define LL_READ_DIR (1ULL << 3)
#define LL_REMOVE_DIR (1ULL << 4)
#define LL_REMOVE_FILE (1ULL << 5)
#define LL_MAKE_CHAR (1ULL << 6)
#define LL_MAKE_DIR (1ULL << 7)
#define LL_MAKE_REG (1ULL << 8)
#define LL_MAKE_SOCK (1ULL << 9)
#define LL_MAKE_FIFO (1ULL << 10)
#define LL_MAKE_BLOCK (1ULL << 11)
#define LL_MAKE_SYM (1ULL << 12)
#define LL_REFER (1ULL << 13)     /* ABI 2 */
#define LL_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define LL_IOCTL_DEV (1ULL << 15) /* ABI 5 */

#define LL_BIND_TCP (1ULL << 0) /* ABI 4 */
#define LL_CONNECT_TCP (1ULL << 1)

#define LL_SCOPE_ABSTRACT (1ULL << 0) /* ABI 6 */
#define LL_SCOPE_SIGNAL (1ULL << 1)

#define LL_CREATE_VERSION (1U << 0)
#define LL_RULE_PATH 1

typedef struct LandlockRuleset {
        uint64_t fs, net, scoped;
} LandlockRuleset;

typedef struct LandlockPath {
        uint64_t access;
        int32_t parent;
} __attribute__((packed)) LandlockPath;
