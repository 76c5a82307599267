"""The screen: a thread writes to it, so that a pager or Ctrl-S cannot stop the agent.

What the reader does not take in time is left out, and counted, but the report of a job waits longer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from hccl_kit.agent.texts import ENGLISH, phrase

if TYPE_CHECKING:
    from hccl_kit.agent.texts import Texts

OUT, ERR = 1, 2
MAX_WAITING = 1 << 20
"""Bytes that wait for the reader; what ranks print beyond that is left out."""
PATIENCE = 5.0
"""Seconds in which a reader takes nothing, after which the agent ends without it."""
PIECE = 4096
"""Bytes of one write, so that progress is seen: what a pipe takes at once."""


class Screen:
    """Standard output and standard error. Either may be closed, or lose its reader; the job goes on.

    `texts` are in the language of the reader. `last` is the rank whose output ends what was shown; None for others, and
    after a gap.
    """

    def __init__(self, texts: Texts = ENGLISH) -> None:
        self.texts = texts
        self.last: int | None = None
        self.queue: deque[tuple[int, bytes]] = deque()
        self.waiting = 0
        self.left_out = 0
        self.changed = threading.Condition()
        self.gone: set[int] = set()
        self.progress = time.monotonic()
        threading.Thread(target=self._write_all, daemon=True).start()

    def ends_with(self, rank: int) -> bool:
        """Whether the next message follows the output of this rank, at the same place."""
        try:
            return self.last == rank and os.path.samestat(os.fstat(OUT), os.fstat(ERR))
        except OSError:
            return False

    def show(self, rank: int, data: bytes) -> None:
        """Show what a rank prints; it is left out if too much waits already."""
        with self.changed:
            if self.waiting + len(data) > MAX_WAITING:
                self.left_out += len(data)
                self.last = None
                return
            if self.left_out:
                self._add(OUT, _encoded(self.note_of_gap()))
                self.left_out = 0
            self._add(OUT, data)
            self.last = rank

    def say(self, text: str, to: int = ERR) -> None:
        """Show a message of the agent, behind what was shown before."""
        with self.changed:
            self._add(to, _encoded(text))
            self.last = None

    def note_of_gap(self) -> str:
        """The note that bytes of a rank are not shown."""
        return f"\n{phrase(self.texts, 'agent.not-shown', number=self.left_out)}\n"

    def finish(self) -> None:
        """Wait until all is shown, or the reader has stopped reading."""
        with self.changed:
            self.progress = time.monotonic()
            while self.waiting and time.monotonic() - self.progress < PATIENCE:
                self.changed.wait(0.1)

    def _add(self, to: int, data: bytes) -> None:
        if to in self.gone:
            return
        self.queue.append((to, data))
        self.waiting += len(data)
        self.changed.notify_all()

    def _write_all(self) -> None:
        while True:
            with self.changed:
                while not self.queue:
                    self.changed.wait()
                to, data = self.queue.popleft()
            for start in range(0, len(data), PIECE):
                piece = data[start : start + PIECE]
                self._write(to, piece)
                with self.changed:
                    self.waiting -= len(piece)
                    self.progress = time.monotonic()
                    self.changed.notify_all()

    def _write(self, to: int, data: bytes) -> None:
        try:
            while data and to not in self.gone:
                data = data[os.write(to, data) :]
        except OSError:  # closed, without a reader, or a full disk
            self.gone.add(to)


def _encoded(text: str) -> bytes:
    return text.encode(getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace")
