"""Runs: the caller's Python. What the connection of one run has brought: output, progress, answers. Nothing here waits; any thread may call."""
from __future__ import annotations

import threading
from collections import deque
from typing import Any, Deque, Dict, Optional, Set, Union

from . import forms, request
from .errors import ProtocolError, RunFailed
from .forms import Ended, Output, Progress


def _weight(event: Union[Output, Progress]) -> int:
    return len(event.data) if isinstance(event, Output) and len(event.data) > 4096 else 4096


class Inbox:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: Deque[Union[Output, Progress]] = deque()
        self._queued = 0
        self._answers: Dict[int, Dict[str, Any]] = {}
        self._asked: Set[int] = {request.RUN}
        self._ignored: Set[int] = set()
        self._last = request.RUN

    def number(self, ignored: bool = False) -> int:
        """The id of a new request. ignored: nobody waits for the answer."""
        with self._lock:
            self._last += 1
            (self._ignored if ignored else self._asked).add(self._last)
            return self._last

    def has(self, number: int) -> bool:
        """Whether the answer is there, or for the run itself something to read."""
        with self._lock:
            return number in self._answers or number == request.RUN and bool(self._events)

    def put(self, message: Dict[str, Any]) -> None:
        if "method" in message:
            run, event = forms.notice(forms.member(message, "method", str), message.get("params"))
            with self._lock:
                self._queued += _weight(event)
                if run != request.RUN or request.RUN in self._answers or self._queued > request.QUEUE_MAX:
                    raise ProtocolError("output of no run, or more than %d bytes of output that was not read" % request.QUEUE_MAX)
                self._events.append(event)
            return
        answered = forms.member(message, "id", int)
        with self._lock:
            if answered in self._ignored:
                self._ignored.remove(answered)
            elif answered in self._asked:
                self._asked.remove(answered)
                self._answers[answered] = message
            else:
                raise ProtocolError("id %d: no request has it" % answered)

    def event(self) -> Union[None, Output, Progress]:
        with self._lock:
            if not self._events:
                return None
            event = self._events.popleft()
            self._queued -= _weight(event)
            return event

    def is_open(self, number: int) -> bool:
        """What the answer to an `input` says."""
        with self._lock:
            message = self._answers.pop(number)
        return forms.member(request.result(message), "open", bool)

    def ended(self, check: bool) -> Ended:
        """The answer of the run, which has to be there. RunFailed with `check` for an exit code that is not 0."""
        with self._lock:
            message = self._answers[request.RUN]
        ended = forms.ended(request.result(message))
        if check and ended.exit_code != 0:
            raise RunFailed(ended)
        return ended
