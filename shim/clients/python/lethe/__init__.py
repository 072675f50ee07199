"""Runs: the caller's Python. A client of `lethe serve` (lethe-clients(7)), without dependencies."""
from .aio import AsyncClient, AsyncRun, AsyncSession
from .client import Client, Run, Session
from .errors import ConnectionLost, LetheError, ProgramFailed, ProtocolError, RequestRefused, RunFailed
from .forms import Denial, Ended, Limit, Output, Ping, Process, Progress, Status
from .request import METHODS

__version__ = "0.1.0"
__all__ = ["AsyncClient", "AsyncRun", "AsyncSession", "Client", "ConnectionLost", "Denial", "Ended", "LetheError", "Limit", "METHODS", "Output", "Ping",
           "Process", "ProgramFailed", "Progress", "ProtocolError", "RequestRefused", "Run", "RunFailed", "Session", "Status"]
