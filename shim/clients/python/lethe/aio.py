"""Runs: the caller's Python. The client for asyncio: the functions of client.py, to be awaited. A call that is cancelled takes its run with it."""
from __future__ import annotations

import asyncio
import base64
import os
import socket
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Dict, List, Mapping, Optional, Sequence, Type, Union, cast

from . import forms, request, verbs
from .errors import ConnectionLost, RunFailed
from .forms import Ended, Output, Ping, Process, Progress, Status
from .inbox import Inbox
from .place import socket_path


class AsyncConnection:
    def __init__(self, timeout: Optional[float]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        self._timeout = timeout
        self._lines = request.Lines()
        self._sending = asyncio.Lock()
        self.descriptors: List[int] = []

    async def connect(self, path: str) -> None:
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(self._socket, path), self._timeout)
        except (OSError, asyncio.TimeoutError) as e:
            self.close()
            raise ConnectionLost("%s: %s" % (path, e)) from e

    async def send(self, number: int, method: str, params: Optional[Mapping[str, Any]], descriptors: Sequence[int] = ()) -> None:
        line = request.line(number, method, params)
        try:
            async with self._sending:
                # Nothing was sent yet where there are descriptors: the socket has room for the first bytes.
                sent = socket.send_fds(self._socket, [line], list(descriptors)) if descriptors else 0
                await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self._socket, line[sent:]), self._timeout)
        except (OSError, asyncio.TimeoutError) as e:
            raise ConnectionLost("the daemon takes no request: %s" % e) from e

    async def _readable(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._socket, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._socket)

    async def receive(self, descriptor: bool = False) -> Dict[str, Any]:
        while True:
            message = self._lines.take()
            if message is not None:
                return message
            try:
                if descriptor:
                    await asyncio.wait_for(self._readable(), self._timeout)
                    data, found, _, _ = socket.recv_fds(self._socket, 65536, 1)
                    self.descriptors += found
                else:
                    data = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self._socket, 65536), self._timeout)
            except (OSError, asyncio.TimeoutError) as e:
                raise ConnectionLost("no answer of the daemon: %s" % (str(e) or "timed out")) from e
            if not data:
                raise ConnectionLost("the daemon closed the connection before the answer")
            self._lines.add(data)

    def close(self) -> None:
        for fd in self.descriptors:
            os.close(fd)
        self.descriptors = []
        self._socket.close()


class AsyncRun:
    """A run whose output comes as it is written: `async for`, or await the result. Leaving the `async with` block ends the run."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._receiving = asyncio.Lock()
        self._inbox = Inbox()

    async def __aenter__(self) -> AsyncRun:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    async def _pump(self, number: int) -> None:
        async with self._receiving:
            if not self._inbox.has(number):
                self._inbox.put(await self._connection.receive())

    async def __aiter__(self) -> AsyncIterator[Union[Output, Progress]]:
        while True:
            event = self._inbox.event()
            if event is not None:
                yield event
            elif self._inbox.has(request.RUN):
                return
            else:
                await self._pump(request.RUN)

    async def result(self, check: bool = True) -> Ended:
        """Waits for the end; output that was not read is dropped. RunFailed for a run that failed, unless check is False."""
        async for _ in self:
            pass
        return self._inbox.ended(check)

    async def write(self, data: bytes, end: bool = False) -> bool:
        """Brings standard input, and with `end` its end. False: the run takes no more."""
        for params in request.pieces(data, end):
            number = self._inbox.number()
            await self._connection.send(number, "input", params)
            while not self._inbox.has(number):
                await self._pump(number)
            if not self._inbox.is_open(number):
                return False
        return True

    async def cancel(self, signal: int = 15) -> None:
        """Ends the run as this signal does: 15, 2, 1 or 13. The result comes as ever, with exit code 128+signal."""
        await self._connection.send(self._inbox.number(ignored=True), "cancel", {"id": request.RUN, "signal": signal})


class AsyncSession:
    """A session of `session.open`: each turn is a region of its own."""

    def __init__(self, client: AsyncClient, session: str, key: str) -> None:
        self._client, self.id, self._key = client, session, key

    async def turn(self, args: Sequence[str] = (), check: bool = True, **more: Any) -> Ended:
        """The next turn. more: as for AsyncClient.start."""
        return await self._client.run(args=args, check=check, session=self.id, key=self._key, **more)

    async def carry(self, section: str, *value: Any) -> Dict[str, Any]:
        """Reads a section between two turns (`value`, `version`), or writes the value that is given (`version`)."""
        return forms.whole(await self._client.ask("session.carry", request.carry(self.id, section, value)))

    async def close(self, erase: bool = False) -> None:
        await self._client.ask("session.close", request.some(session=self.id, erase=erase))


class AsyncClient:
    """socket: its path (default: as lethe-serve(8) says). timeout: seconds without a byte of the daemon, None for no end. program: `lethe`, for slots,
    memory and belief."""

    def __init__(self, socket: Optional[str] = None, timeout: Optional[float] = None, program: str = "lethe") -> None:
        self._path, self._timeout, self._program = socket_path(socket), timeout, program
        self._env: Optional[Dict[str, str]] = None
        self.slots: verbs.Slots[Awaitable[Any]] = verbs.Slots(self._verb)
        self.memory: verbs.Memory[Awaitable[Any]] = verbs.Memory(self._verb)
        self.belief: verbs.Belief[Awaitable[Any]] = verbs.Belief(self._verb)

    async def _connect(self) -> AsyncConnection:
        connection = AsyncConnection(self._timeout)
        await connection.connect(self._path)
        return connection

    async def ask(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Any method of schema/serve.md: its result."""
        connection = await self._connect()
        try:
            await connection.send(request.RUN, method, params)
            return request.result(await connection.receive())
        finally:
            connection.close()

    async def _ask_descriptor(self, method: str, params: Optional[Mapping[str, Any]]) -> Optional[int]:
        connection = await self._connect()
        try:
            await connection.send(request.RUN, method, params)
            request.result(await connection.receive(descriptor=True))
            return connection.descriptors.pop() if connection.descriptors else None
        finally:
            connection.close()

    async def _verb(self, v: verbs.Verb) -> Any:
        if self._env is None:
            self._env = verbs.environment(os.environ, await self.ping())
        p = await asyncio.create_subprocess_exec(self._program, *v.argv, stdin=-1, stdout=-1, stderr=-1, env=self._env)
        try:
            out, err = await asyncio.wait_for(p.communicate((v.text or "").encode()), self._timeout)
        finally:
            if p.returncode is None:
                p.kill()
                await p.wait()
        return verbs.answer(v, p.returncode or 0, out, err)

    async def start(self, skill: Optional[str] = None, args: Sequence[str] = (), options: Optional[request.Options] = None,
                    stream: Sequence[str] = ("stdout", "stderr"), stdio: Optional[Mapping[str, int]] = None, **more: Any) -> AsyncRun:
        """Begins a run: the parameters are those of Client.start."""
        connection = await self._connect()
        try:
            params = request.run(skill, args, options, dict(more, stream=list(stream) or None, stdio=list(stdio or {}) or None))
            await connection.send(request.RUN, "run", params, list((stdio or {}).values()))
        except BaseException:
            connection.close()
            raise
        return AsyncRun(connection)

    async def run(self, skill: Optional[str] = None, args: Sequence[str] = (), options: Optional[request.Options] = None, check: bool = True,
                  **more: Any) -> Ended:
        """Runs to the end; standard output and error are in the answer, up to 1 MiB of each. RunFailed as for AsyncRun.result."""
        more.setdefault("stream", ())
        async with await self.start(skill, args, options, **more) as run:
            return await run.result(check)

    async def detach(self, skill: Optional[str] = None, args: Sequence[str] = (), options: Optional[request.Options] = None, **more: Any) -> str:
        """Begins a run that goes on without its client: the id of its region. RunFailed when it does not begin."""
        answer = await self.ask("run", request.run(skill, args, options, dict(more, detach=True)))
        if isinstance(answer, dict) and answer.get("detached") is True:
            return forms.member(answer, "region", str)
        raise RunFailed(forms.ended(answer))

    async def kill(self, region: str, discard: bool = False) -> None:
        await self.ask("kill", request.some(region=region, discard=discard))

    async def attach(self, region: str) -> Optional[int]:
        """A descriptor of the region's standard input, which the caller closes; None when the region takes none."""
        return await self._ask_descriptor("attach", {"region": region})

    async def takeover(self) -> Optional[int]:
        """The listening socket. The daemon ends."""
        return await self._ask_descriptor("takeover", None)

    async def ps(self) -> List[Process]:
        return cast(List[Process], forms.member(await self.ask("ps"), "runs", list))

    async def ping(self) -> Ping:
        return cast(Ping, forms.whole(await self.ask("ping")))

    async def status(self) -> Status:
        return cast(Status, forms.whole(await self.ask("status")))

    async def reload(self) -> Dict[str, Any]:
        return forms.whole(await self.ask("reload"))

    async def stop(self) -> None:
        await self.ask("stop")

    async def _working(self, method: str, scope: str, **more: Any) -> Any:
        return await self.ask(method, dict(more, store=(await self.ping())["store"], scope=scope))

    async def working_get(self, scope: str = "default") -> Any:
        return forms.whole(await self._working("working.get", scope)).get("value")

    async def working_set(self, value: Any, scope: str = "default") -> None:
        await self._working("working.set", scope, value=value)

    async def working_clear(self, scope: str = "default") -> None:
        await self._working("working.clear", scope)

    async def session_open(self, skill: str, options: Optional[request.Options] = None, cwd: Optional[str] = None) -> AsyncSession:
        answer = await self.ask("session.open", request.run(skill, (), options, {"cwd": cwd}))
        return AsyncSession(self, forms.member(answer, "session", str), forms.member(answer, "key", str))
