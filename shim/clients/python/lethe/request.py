"""Runs: the caller's Python. Requests of schema/serve.md, and the lines in which they and the answers go."""
from __future__ import annotations

import base64
import json
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from .errors import ProtocolError, RequestRefused
from .forms import member

LINE_MAX = 16 * 1024 * 1024  # an answer, schema/serve.md section 1
INPUT_MAX = 49152  # one `input`, section 2
QUEUE_MAX = 64 * 1024 * 1024  # output that waits for its reader
RUN = 1  # the id of the run of a connection; other requests of it have higher ones

# Each method of the protocol, and its function of Client and AsyncClient, or of the object after the dot.
METHODS = {
    "run": "start", "cancel": "Run.cancel", "input": "Run.write", "kill": "kill", "attach": "attach", "ps": "ps", "ping": "ping", "status": "status",
    "reload": "reload", "stop": "stop", "takeover": "takeover", "working.get": "working_get", "working.set": "working_set",
    "working.clear": "working_clear", "session.open": "session_open", "session.carry": "Session.carry", "session.close": "Session.close",
}

Options = Union[Mapping[str, Union[None, str, Sequence[str]]], Iterable[Sequence[Optional[str]]]]


def options(given: Optional[Options]) -> List[List[Optional[str]]]:
    """Options of lethe-run(1) as pairs. A mapping may have None (an option without a value) or a list (the option several times)."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        return [list(pair) for pair in given]
    found: List[List[Optional[str]]] = []
    for name, value in given.items():
        if value is None or isinstance(value, str):
            found.append([name, value])
        else:
            found += [[name, one] for one in value]
    return found


def run(skill: Optional[str], args: Sequence[str], given: Optional[Options], more: Mapping[str, Any]) -> Dict[str, Any]:
    """The parameters of `run`: `exec`, `session`, `stdin` and the like are in `more`; members that are None are left out."""
    params: Dict[str, Any] = {name: value for name, value in more.items() if value is not None}
    if skill is not None:
        params["skill"] = skill
    if args:
        params["args"] = list(args)
    pairs = options(given)
    if pairs:
        params["options"] = pairs
    return params


def some(**members: Any) -> Dict[str, Any]:
    """The members that are neither None nor False."""
    return {name: value for name, value in members.items() if value is not None and value is not False}


def carry(session: str, section: str, value: Sequence[Any]) -> Dict[str, Any]:
    """The parameters of `session.carry`; value: none, or the one that is written, which may be null."""
    params: Dict[str, Any] = {"session": session, "section": section}
    if value:
        (params["value"],) = value
    return params


def pieces(data: bytes, end: bool) -> Iterator[Dict[str, Any]]:
    """The parameters of each `input` that brings the data."""
    for at in range(0, max(len(data), 1), INPUT_MAX):
        last = end and at + INPUT_MAX >= len(data)
        yield some(id=RUN, data=base64.b64encode(data[at:at + INPUT_MAX]).decode(), end=last)


def line(number: int, method: str, params: Optional[Mapping[str, Any]]) -> bytes:
    """A request. ValueError for what is no JSON."""
    message: Dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _no_constant(word: str) -> Any:
    raise ValueError(word)


class Lines:
    """Received bytes, and the messages in them. A line beyond LINE_MAX is a ProtocolError, and is not kept."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._looked = 0

    def add(self, data: bytes) -> None:
        self._bytes += data

    def take(self) -> Optional[Dict[str, Any]]:
        """The next message; None when more bytes are needed."""
        at = self._bytes.find(b"\n", self._looked)
        if (at if at >= 0 else len(self._bytes)) > LINE_MAX:
            raise ProtocolError("a line of the daemon is longer than %d bytes" % LINE_MAX)
        if at < 0:
            self._looked = len(self._bytes)
            return None
        text = bytes(self._bytes[:at])
        del self._bytes[:at + 1]
        self._looked = 0
        try:
            message = json.loads(text.decode(), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise ProtocolError("a line of the daemon is no JSON") from None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise ProtocolError("a line of the daemon is no message of JSON-RPC 2.0")
        return message


def result(message: Dict[str, Any]) -> Any:
    """The result of an answer; RequestRefused when it is an error."""
    if "error" in message:
        error = member(message, "error", dict)
        raise RequestRefused(member(member(error, "data", dict, {}), "code", str, "unknown"), member(error, "code", int), member(error, "message", str))
    if "result" not in message:
        raise ProtocolError("an answer of the daemon has neither result nor error")
    return message["result"]
