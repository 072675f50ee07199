"""Runs: the caller's Python. The typed forms of answers. Each form is made from hostile JSON: a wrong type is a ProtocolError."""
from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, Type, TypedDict, TypeVar

from .errors import ProtocolError

Json = Any
T = TypeVar("T")


class Ping(TypedDict):
    protocol: int
    version: str
    pid: int
    store: str
    anchor: Optional[str]
    policy: Optional[str]


class Status(Ping, total=False):
    socket: str
    stopping: bool
    uptime_usec: int
    clients: int
    running: int
    queued: int
    max_running: int
    max_queued: int
    served: int
    refused: int
    ending: int
    ready_guards: int
    ready_regions: int
    objects: int
    max_objects: int


class Process(TypedDict, total=False):
    """A run of `ps`. regions: ids, the first one first; state: running or queued."""

    regions: List[str]
    state: str
    pid: int
    uid: int
    object: str


def member(o: Any, name: str, kind: Type[T], default: Optional[T] = None) -> T:
    """o[name], which has to be a `kind`; without it the default. ProtocolError otherwise."""
    value = o.get(name, default) if isinstance(o, dict) else None
    if not isinstance(value, kind) or kind is int and isinstance(value, bool):
        raise ProtocolError("%s: must be %s" % (name, kind.__name__))
    return value


def whole(o: Any) -> Dict[str, Json]:
    """A result that has to be an object."""
    if not isinstance(o, dict):
        raise ProtocolError("result: must be an object")
    return o


@dataclass(frozen=True)
class Output:
    """Bytes of a stream of a run: `stdout` or `stderr`."""

    stream: str
    data: bytes


@dataclass(frozen=True)
class Progress:
    done: float
    total: Optional[float] = None
    message: Optional[str] = None


@dataclass(frozen=True)
class Denial:
    rule: str
    operation: str
    object: str
    count: int
    allow_with: Optional[str]


@dataclass(frozen=True)
class Limit:
    """A broken budget. limit, used: in the unit of the resource (bytes, microseconds, processes), None where it was not measured."""

    resource: str
    limit: Optional[int]
    used: Optional[int]
    reason: Optional[str]


@dataclass(frozen=True)
class Ended:
    """The answer of a run. receipt: that of lethe-run(1), None when none was asked for; refusal: when there was no region."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    region: Optional[str] = None
    receipt: Optional[Dict[str, Json]] = None
    refusal: Optional[Dict[str, Json]] = None
    stdout_cut: bool = False
    stderr_cut: bool = False
    denials: List[Denial] = field(default_factory=list)
    limit: Optional[Limit] = None

    @property
    def outcome(self) -> Optional[str]:
        found = (self.receipt or {}).get("outcome")
        return found if isinstance(found, str) else None

    @property
    def why(self) -> List[str]:
        if self.refusal is not None:
            return ["refused: %s" % self.refusal.get("message", "")]
        end = self.limit.reason if self.limit and self.limit.reason else "exit code %d" % self.exit_code
        lines = ["region %s: %s: %s" % (self.region, self.outcome or "ended", end)]
        for d in self.denials:
            lines.append("denied: %s %s%s" % (d.operation, d.object, "; allowed by: " + d.allow_with if d.allow_with else ""))
        return lines


def _optional(o: Dict[str, Any], name: str, kind: Type[T]) -> Optional[T]:
    return None if o.get(name) is None else member(o, name, kind)


def ended(o: Any) -> Ended:
    """The result of `run`, checked."""
    receipt = _optional(whole(o), "receipt", dict)
    denials, limit = [], None
    for d in member(receipt, "denials", list, []) if receipt else []:
        denials.append(Denial(member(d, "rule", str), member(d, "operation", str), member(d, "object", str), member(d, "count", int),
                              _optional(d, "allow_with", str)))
    if receipt and receipt.get("limiting_resource") is not None:
        limit = Limit(member(receipt, "limiting_resource", str), _optional(receipt, "limit", int), _optional(receipt, "used", int),
                      _optional(receipt, "reason", str))
    return Ended(member(o, "exit_code", int), member(o, "stdout", str, ""), member(o, "stderr", str, ""), _optional(o, "region", str), receipt,
                 _optional(o, "refusal", dict), member(o, "stdout_cut", bool, False), member(o, "stderr_cut", bool, False), denials, limit)


def notice(method: str, params: Any) -> Tuple[int, Any]:
    """The id of the run, and the Output or Progress that a notification of the daemon brings."""
    run = member(params, "id", int)
    if method == "output":
        stream = member(params, "stream", str)
        if stream not in ("stdout", "stderr"):
            raise ProtocolError("stream: must be stdout or stderr")
        try:
            return run, Output(stream, base64.b64decode(member(params, "data", str), validate=True))
        except (binascii.Error, ValueError):
            raise ProtocolError("data: must be base64") from None
    if method == "progress":
        total = params.get("total")
        if isinstance(params.get("done"), bool) or not isinstance(params.get("done"), (int, float)):
            raise ProtocolError("done: must be a number")
        if isinstance(total, bool) or not isinstance(total, (int, float, type(None))):
            raise ProtocolError("total: must be a number")
        return run, Progress(params["done"], total, _optional(params, "message", str))
    raise ProtocolError("method: must be output or progress")
