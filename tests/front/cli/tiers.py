"""Which tiers this kernel can have, asked of the kernel and not of lethe: a lethe that refuses a tier wrongly is to fail its tests."""
import ctypes
import errno
import os

LANDLOCK_CREATE_RULESET = 444
NEEDED = 6  # a Landlock that keeps signals inside (Linux 6.12)


def landlock_abi():
    """0 without Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(ctypes.c_long(LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if abi < 0 and ctypes.get_errno() not in (errno.ENOSYS, errno.EOPNOTSUPP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "landlock_create_ruleset")
    return max(abi, 0)


ABI = landlock_abi()
TIERS = ("namespaces", "landlock") if ABI >= NEEDED else ("namespaces",)
WHY_NOT = "this kernel has no Landlock of ABI %d, which tier landlock needs: its own is %d" % (NEEDED, ABI)
