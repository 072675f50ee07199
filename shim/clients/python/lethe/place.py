"""Runs: the caller's Python. Where the daemon's socket is."""
from __future__ import annotations

import os
from typing import Optional

from .errors import ConnectionLost


def socket_path(said: Optional[str]) -> str:
    """The path that was said, else the one of schema/serve.md section 1."""
    path = said or os.environ.get("LETHE_SOCKET")
    if path:
        return path
    if os.geteuid() == 0:
        return "/run/lethe/socket"
    base = os.environ.get("XDG_RUNTIME_DIR")
    if not base:
        raise ConnectionLost("no place for the socket: name it, or set LETHE_SOCKET or XDG_RUNTIME_DIR")
    return os.path.join(base, "lethe", "socket")
