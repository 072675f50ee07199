"""Runs: the caller's Python. The client that waits. Each call has a connection of its own: a call that is given up takes its run with it."""
from __future__ import annotations

import os
import socket
import subprocess
import threading
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union, cast

from . import forms, request, verbs
from .errors import ConnectionLost, RunFailed
from .forms import Ended, Output, Ping, Process, Progress, Status
from .inbox import Inbox
from .place import socket_path


class Connection:
    """One stream socket of the daemon. A received descriptor is kept only where it was asked for."""

    def __init__(self, path: str, timeout: Optional[float]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._lines = request.Lines()
        self._sending = threading.Lock()
        self.descriptors: List[int] = []
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
        except OSError as e:
            self._socket.close()
            raise ConnectionLost("%s: %s" % (path, e.strerror or e)) from e

    def send(self, number: int, method: str, params: Optional[Mapping[str, Any]], descriptors: Sequence[int] = ()) -> None:
        line = request.line(number, method, params)
        try:
            with self._sending:
                sent = socket.send_fds(self._socket, [line], list(descriptors)) if descriptors else 0
                self._socket.sendall(line[sent:])
        except OSError as e:
            raise ConnectionLost("the daemon takes no request: %s" % (e.strerror or e)) from e

    def receive(self, descriptor: bool = False) -> Dict[str, Any]:
        while True:
            message = self._lines.take()
            if message is not None:
                return message
            try:
                if descriptor:
                    data, found, _, _ = socket.recv_fds(self._socket, 65536, 1)
                    self.descriptors += found
                else:
                    data = self._socket.recv(65536)
            except OSError as e:
                raise ConnectionLost("no answer of the daemon: %s" % (e.strerror or e)) from e
            if not data:
                raise ConnectionLost("the daemon closed the connection before the answer")
            self._lines.add(data)

    def close(self) -> None:
        for fd in self.descriptors:
            os.close(fd)
        self.descriptors = []
        self._socket.close()


class Run:
    """A run whose output comes as it is written: iterate, or ask for the result. Leaving the `with` block ends the run. Any thread may cancel."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._receiving = threading.Lock()
        self._inbox = Inbox()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _pump(self, number: int) -> None:
        with self._receiving:
            if not self._inbox.has(number):
                self._inbox.put(self._connection.receive())

    def __iter__(self) -> Iterator[Union[Output, Progress]]:
        while True:
            event = self._inbox.event()
            if event is not None:
                yield event
            elif self._inbox.has(request.RUN):
                return
            else:
                self._pump(request.RUN)

    def result(self, check: bool = True) -> Ended:
        """Waits for the end; output that was not read is dropped. RunFailed for a run that failed, unless check is False."""
        for _ in self:
            pass
        return self._inbox.ended(check)

    def write(self, data: bytes, end: bool = False) -> bool:
        """Brings standard input, and with `end` its end. False: the run takes no more."""
        for params in request.pieces(data, end):
            number = self._inbox.number()
            self._connection.send(number, "input", params)
            while not self._inbox.has(number):
                self._pump(number)
            if not self._inbox.is_open(number):
                return False
        return True

    def cancel(self, signal: int = 15) -> None:
        """Ends the run as this signal does: 15, 2, 1 or 13. The result comes as ever, with exit code 128+signal."""
        self._connection.send(self._inbox.number(ignored=True), "cancel", {"id": request.RUN, "signal": signal})


class Session:
    """A session of `session.open`: each turn is a region of its own."""

    def __init__(self, client: Client, session: str, key: str) -> None:
        self._client, self.id, self._key = client, session, key

    def turn(self, args: Sequence[str] = (), check: bool = True, **more: Any) -> Ended:
        """The next turn. more: as for Client.start."""
        return self._client.run(args=args, check=check, session=self.id, key=self._key, **more)

    def carry(self, section: str, *value: Any) -> Dict[str, Any]:
        """Reads a section between two turns (`value`, `version`), or writes the value that is given (`version`)."""
        return forms.whole(self._client.ask("session.carry", request.carry(self.id, section, value)))

    def close(self, erase: bool = False) -> None:
        self._client.ask("session.close", request.some(session=self.id, erase=erase))


class Client:
    """socket: its path (default: as lethe-serve(8) says). timeout: seconds without a byte of the daemon, None for no end. program: `lethe`, for slots,
    memory and belief."""

    def __init__(self, socket: Optional[str] = None, timeout: Optional[float] = None, program: str = "lethe") -> None:
        self._path, self._timeout, self._program = socket_path(socket), timeout, program
        self._env: Optional[Dict[str, str]] = None
        self.slots: verbs.Slots[Any] = verbs.Slots(self._verb)
        self.memory: verbs.Memory[Any] = verbs.Memory(self._verb)
        self.belief: verbs.Belief[Any] = verbs.Belief(self._verb)

    def ask(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Any method of schema/serve.md: its result."""
        connection = Connection(self._path, self._timeout)
        try:
            connection.send(request.RUN, method, params)
            return request.result(connection.receive())
        finally:
            connection.close()

    def _ask_descriptor(self, method: str, params: Optional[Mapping[str, Any]]) -> Optional[int]:
        connection = Connection(self._path, self._timeout)
        try:
            connection.send(request.RUN, method, params)
            request.result(connection.receive(descriptor=True))
            return connection.descriptors.pop() if connection.descriptors else None
        finally:
            connection.close()

    def _verb(self, v: verbs.Verb) -> Any:
        if self._env is None:
            self._env = verbs.environment(os.environ, self.ping())
        p = subprocess.run([self._program, *v.argv], input=(v.text or "").encode(), capture_output=True, env=self._env, timeout=self._timeout, check=False)
        return verbs.answer(v, p.returncode, p.stdout, p.stderr)

    def start(self, skill: Optional[str] = None, args: Sequence[str] = (), options: Optional[request.Options] = None,
              stream: Sequence[str] = ("stdout", "stderr"), stdio: Optional[Mapping[str, int]] = None, **more: Any) -> Run:
        """Begins a run. stream: the streams that go over the connection. stdio: descriptors by stream. more: `exec`, `session`, `key`, `cwd`, `stdin`,
        `progress` and the other parameters of schema/serve.md, 3.1."""
        params = request.run(skill, args, options, dict(more, stream=list(stream) or None, stdio=list(stdio or {}) or None))
        connection = Connection(self._path, self._timeout)
        try:
            connection.send(request.RUN, "run", params, list((stdio or {}).values()))
        except BaseException:
            connection.close()
            raise
        return Run(connection)

    def run(self, skill: Optional[str] = None, args: Sequence[str] = (), options: Optional[request.Options] = None, check: bool = True,
            **more: Any) -> Ended:
        """Runs to the end; standard output and error are in the answer, up to 1 MiB of each. RunFailed as for Run.result."""
        more.setdefault("stream", ())
        with self.start(skill, args, options, **more) as run:
            return run.result(check)

    def detach(self, skill: Optional[str] = None, args: Sequence[str] = (), options: Optional[request.Options] = None, **more: Any) -> str:
        """Begins a run that goes on without its client: the id of its region. RunFailed when it does not begin."""
        answer = self.ask("run", request.run(skill, args, options, dict(more, detach=True)))
        if isinstance(answer, dict) and answer.get("detached") is True:
            return forms.member(answer, "region", str)
        raise RunFailed(forms.ended(answer))

    def kill(self, region: str, discard: bool = False) -> None:
        self.ask("kill", request.some(region=region, discard=discard))

    def attach(self, region: str) -> Optional[int]:
        """A descriptor of the region's standard input, which the caller closes; None when the region takes none."""
        return self._ask_descriptor("attach", {"region": region})

    def takeover(self) -> Optional[int]:
        """The listening socket. The daemon ends."""
        return self._ask_descriptor("takeover", None)

    def ps(self) -> List[Process]:
        return cast(List[Process], forms.member(self.ask("ps"), "runs", list))

    def ping(self) -> Ping:
        return cast(Ping, forms.whole(self.ask("ping")))

    def status(self) -> Status:
        return cast(Status, forms.whole(self.ask("status")))

    def reload(self) -> Dict[str, Any]:
        return forms.whole(self.ask("reload"))

    def stop(self) -> None:
        self.ask("stop")

    def _working(self, method: str, scope: str, **more: Any) -> Any:
        return self.ask(method, dict(more, store=self.ping()["store"], scope=scope))

    def working_get(self, scope: str = "default") -> Any:
        return forms.whole(self._working("working.get", scope)).get("value")

    def working_set(self, value: Any, scope: str = "default") -> None:
        self._working("working.set", scope, value=value)

    def working_clear(self, scope: str = "default") -> None:
        self._working("working.clear", scope)

    def session_open(self, skill: str, options: Optional[request.Options] = None, cwd: Optional[str] = None) -> Session:
        answer = self.ask("session.open", request.run(skill, (), options, {"cwd": cwd}))
        return Session(self, forms.member(answer, "session", str), forms.member(answer, "key", str))
