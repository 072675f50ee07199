"""Runs: the caller's Python. The exceptions: every error of this package is a LetheError."""
from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

if TYPE_CHECKING:
    from .forms import Denial, Ended, Limit


class LetheError(Exception):
    """The base of all exceptions of this package."""


class ConnectionLost(LetheError):
    """The daemon cannot be reached, did not answer in time, or closed the connection before the answer."""


class ProtocolError(LetheError):
    """The daemon sent bytes that are no message of schema/serve.md."""


class RequestRefused(LetheError):
    """An error answer of the daemon. code: the word of schema/serve.md, section 4, as `busy`; number: the JSON-RPC code."""

    def __init__(self, code: str, number: int, message: str) -> None:
        super().__init__("%s: %s" % (code, message))
        self.code, self.number, self.message = code, number, message


class ProgramFailed(LetheError):
    """A verb of the program `lethe` was refused. code: the word of lethe(1), as `no_store`; status: the exit status."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__("%s: %s" % (code, message))
        self.code, self.status, self.message = code, status, message


class RunFailed(LetheError):
    """A run that did not end with exit code 0, or that was refused before its region. ended: the whole answer."""

    def __init__(self, ended: Ended) -> None:
        super().__init__("\n".join(ended.why))
        self.ended = ended

    @property
    def exit_code(self) -> int:
        return self.ended.exit_code

    @property
    def outcome(self) -> Optional[str]:
        """The word of lethe-run(1), as `out_of_region`; None without a region."""
        return self.ended.outcome

    @property
    def limit(self) -> Optional[Limit]:
        """The budget that ended the run."""
        return self.ended.limit

    @property
    def denials(self) -> List[Denial]:
        return self.ended.denials

    @property
    def why(self) -> List[str]:
        """Lines for a person: how the run ended, and the line of the manifest that allows each denied attempt."""
        return self.ended.why
