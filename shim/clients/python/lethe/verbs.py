"""Runs: the caller's Python. What the daemon's socket has no method for: slots, memory and belief, by verbs of the program `lethe` on the daemon's store.

Texts and values go through standard input, never into the arguments, which other users may see.
"""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, Generic, List, Mapping, NamedTuple, Optional, Sequence, TypeVar

from .errors import ProgramFailed, ProtocolError

R = TypeVar("R")


class Verb(NamedTuple):
    """A command line without the program, and its standard input. many: the answer is a list, an object a line."""

    argv: List[str]
    text: Optional[str] = None
    many: bool = False


Call = Callable[[Verb], R]


def verb(words: Sequence[str], operands: Sequence[str] = (), text: Optional[str] = None, many: bool = False, **options: Any) -> Verb:
    """Options come first, and operands behind --, so that no operand is taken for an option. An option that is None is left out, True has no value."""
    argv = list(words) + ["--json"]
    for name, value in options.items():
        if value is True:
            argv.append("--" + name)
        elif value is not None and value is not False:
            argv.append("--%s=%s" % (name, value))
    return Verb(argv + ["--"] + list(operands), text, many)


def answer(v: Verb, status: int, out: bytes, err: bytes) -> Any:
    """What the program printed: an object, or with `many` a list. ProgramFailed when it was refused."""
    try:
        lines = [json.loads(x) for x in out.decode().splitlines()] if v.many or status != 0 else []
        whole = json.loads(out.decode()) if status == 0 and not v.many else None
    except (ValueError, RecursionError):
        raise (ProtocolError("lethe %s prints no JSON" % v.argv[0]) if status == 0 else
               ProgramFailed("failed", status, err.decode(errors="replace").strip())) from None
    if status != 0:
        last = lines[-1] if lines else None
        error = last.get("error") if isinstance(last, dict) else None
        if isinstance(error, dict):
            raise ProgramFailed(str(error.get("code")), status, str(error.get("message")))
        raise ProgramFailed("failed", status, err.decode(errors="replace").strip())
    return lines if v.many else whole


def environment(own: Mapping[str, str], ping: Mapping[str, Any]) -> Dict[str, str]:
    """The environment of the program: the daemon's store, anchor and policy."""
    env = dict(own)
    for name, value in (("LETHE_STORE", ping.get("store")), ("LETHE_ANCHOR", ping.get("anchor")), ("LETHE_POLICY", ping.get("policy"))):
        env.pop(name, None)
        if value:
            env[name] = str(value)
    return env


class _Family(Generic[R]):
    def __init__(self, call: Call[R]) -> None:
        self._call = call


class Slots(_Family[R]):
    """Named values, each typed by a JSON Schema (lethe slot)."""

    def define(self, name: str, schema: Any, arbitrate: Optional[str] = None) -> R:
        return self._call(verb(["slot", "define"], [name], json.dumps(schema), schema="-", arbitrate=arbitrate))

    def put(self, name: str, value: Any, expect: Optional[int] = None) -> R:
        return self._call(verb(["slot", "put"], [name, "-"], json.dumps(value, allow_nan=False), expect=expect))

    def get(self, name: str, version: Optional[int] = None) -> R:
        return self._call(verb(["slot", "get"], [name], version=version))

    def list(self) -> R:
        return self._call(verb(["slot", "list"]))

    def history(self, name: str) -> R:
        return self._call(verb(["slot", "history"], [name]))


class Memory(_Family[R]):
    """Records of typed memory (lethe memory). family: memory_substrate, knowledge_substrate or skill_substrate, or their first word."""

    def save(self, family: str, payload: Any, id: Optional[str] = None, type: Optional[str] = None, refs: Any = None, expect: Optional[int] = None,
             scope: Optional[str] = None) -> R:
        return self._call(verb(["memory", "save"], [family, "-"], json.dumps(payload, allow_nan=False), id=id, type=type,
                               refs=None if refs is None else json.dumps(refs), expect=expect, scope=scope))

    def load(self, family: str, id: str, version: Optional[int] = None, scope: Optional[str] = None) -> R:
        return self._call(verb(["memory", "load"], [family, id], version=version, scope=scope))

    def search(self, query: str, limit: Optional[int] = None, scope: Optional[str] = None) -> R:
        return self._call(verb(["memory", "search"], [query], limit=limit, scope=scope))

    def history(self, family: str, id: str, scope: Optional[str] = None) -> R:
        return self._call(verb(["memory", "history"], [family, id], scope=scope))

    def delete(self, family: str, id: str, reason: Optional[str] = None, cascade: bool = False, scope: Optional[str] = None) -> R:
        return self._call(verb(["memory", "delete"], [family, id], reason=reason, cascade=cascade, scope=scope))


class Belief(_Family[R]):
    """Notes, and the shared belief that they become (lethe note, promote, canon, pending, context)."""

    def begin(self, agent: str, scope: Optional[str] = None) -> R:
        return self._call(verb(["note", "begin"], agent=agent, scope=scope))

    def add(self, run: str, text: str, role: Optional[str] = None) -> R:
        return self._call(verb(["note", "add"], [run, "-"], text, role=role))

    def notes(self, run: str) -> R:
        return self._call(verb(["note", "list"], [run]))

    def promote(self, run: str, most: Optional[int] = None) -> R:
        return self._call(verb(["promote"], [run], many=True, most=most))

    def canon(self, bucket: Optional[str] = None, state: Optional[str] = None, scope: Optional[str] = None) -> R:
        return self._call(verb(["canon", "list"], bucket=bucket, state=state, scope=scope))

    def row(self, bucket: str, id: str, scope: Optional[str] = None) -> R:
        return self._call(verb(["canon", "show"], [bucket, id], scope=scope))

    def pending(self, scope: Optional[str] = None, all: bool = False) -> R:
        return self._call(verb(["pending", "list"], scope=scope, all=all))

    def bind(self, item: str, target: str) -> R:
        return self._call(verb(["pending", "bind"], [item, target]))

    def drop(self, item: str, reason: str) -> R:
        return self._call(verb(["pending", "drop"], [item], reason=reason))

    def context(self, query: Optional[str] = None, lane: Optional[int] = None, bytes: Optional[int] = None, scope: Optional[str] = None) -> R:
        return self._call(verb(["context"], query=query, lane=lane, bytes=bytes, scope=scope))
