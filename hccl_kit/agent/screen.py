"""The screen: a thread writes to it, so that a pager or Ctrl-S cannot stop the agent.

What the reader does not take in time is left out, and counted, but the report of a job waits longer.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque

OUT, ERR = 1, 2
MAX_WAITING = 1 << 20
"""Bytes that wait for the reader; what ranks print beyond that is left out."""
PATIENCE = 5.0
"""Seconds in which a reader takes nothing, after which the agent ends without it."""
PIECE = 4096
"""Bytes of one write, so that progress is seen: what a pipe takes at once."""


class Screen:
    """Standard output and standard error. Either may be closed, or lose its reader; the job goes on."""

    def __init__(self) -> None:
        self.queue: deque[tuple[int, bytes]] = deque()
        self.waiting = 0
        self.left_out = 0
        self.changed = threading.Condition()
        self.gone: set[int] = set()
        self.progress = time.monotonic()
        threading.Thread(target=self._write_all, daemon=True).start()

    @property
    def is_one(self) -> bool:
        """Whether both go to the same place."""
        try:
            return os.path.samestat(os.fstat(OUT), os.fstat(ERR))
        except OSError:
            return False

    def show(self, data: bytes) -> bool:
        """Show what a rank prints; False if it is left out, since too much waits already."""
        with self.changed:
            if self.waiting + len(data) > MAX_WAITING:
                self.left_out += len(data)
                return False
            if self.left_out:
                note = f"\n[{self.left_out} bytes are not shown: the screen was too slow; see the log]\n"
                self._add(OUT, note.encode())
                self.left_out = 0
            self._add(OUT, data)
        return True

    def say(self, text: str, to: int = ERR) -> None:
        """Show a message of the agent, behind what was shown before."""
        with self.changed:
            self._add(to, text.encode("utf-8", "backslashreplace"))

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
