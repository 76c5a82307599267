"""What torch's flight recorder has of this process, written when the process stands still or fails.

torch records the collectives of gloo, but dumps only for NCCL, and torch_npu only for HCCL, after their timeouts. So
a thread of ours asks every second how far the process groups are. The question without the collectives is cheap; the
whole recording is written when the answer has not changed for STILL seconds, and removed when the job goes on.
Nothing here imports torch: it asks the module that the program has loaded, by a name that a release may move.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically

NAME = "torch_trace_rank_{}.json"
"""The file of a rank, in the run's log folder."""
PATIENCE = 5.0
"""Seconds to wait for a thread that is in a call of torch before a process that ends gives up its recording."""
STILL = 3.0
"""Seconds without a new or completed collective."""
MAX_BYTES = 16 << 20
"""A larger recording is not written; torch's ring of 2000 collectives takes 1 MB."""
_MODULE, _FUNCTION = "torch._C._distributed_c10d", "_dump_fr_trace_json"

Dump = Callable[..., bytes]


class TorchTrace:
    """Writes `path` while the process stands still."""

    def __init__(self, path: Path, dump: Callable[[], Dump | None] | None = None) -> None:
        self._path = path
        self._dump = dump or _dump_function
        self._lock = threading.RLock()  # a signal may come while the main thread writes
        self._seen: bytes | None = None
        self._since = 0.0
        self._is_written = False

    def look(self) -> None:
        """Write the recording if nothing happened for STILL seconds, and remove it if something did. Never fails."""
        with suppress(Exception), self._held():
            dump = self._dump()
            if dump is None:
                return
            status, now = dump(includeCollectives=False), time.monotonic()
            if status != self._seen:
                self._seen, self._since = status, now
                self._remove()
            elif not self._is_written and now >= self._since + STILL and _has_groups(status):
                self._write(dump)

    def failed(self) -> None:
        """Write the recording of a process that fails. Never fails."""
        with suppress(Exception), self._held():
            dump = self._dump()
            if dump is not None and _has_groups(dump(includeCollectives=False)):
                self._write(dump)

    def done(self) -> None:
        """Remove the recording of a process that has ended well."""
        with suppress(Exception), self._held():
            self._remove()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the lock. Raises TimeoutError if it is taken for PATIENCE seconds: torch may hang."""
        if not self._lock.acquire(timeout=PATIENCE):
            raise TimeoutError
        try:
            yield
        finally:
            self._lock.release()

    def _write(self, dump: Dump) -> None:
        text = dump()
        if len(text) <= MAX_BYTES:
            write_atomically(self._path, text)
            self._is_written = True

    def _remove(self) -> None:
        if self._is_written:
            self._path.unlink(missing_ok=True)
            self._is_written = False


def _has_groups(status: bytes) -> bool:
    groups = json.loads(status)
    return bool(groups.get("pg_config") or groups.get("pg_status"))


def _dump_function() -> Dump | None:
    """The function that dumps, if this process has loaded torch.distributed."""
    return getattr(sys.modules.get(_MODULE), _FUNCTION, None)
