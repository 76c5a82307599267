"""Communication of the processes of one mpirun (hccl-gen and preflight --mpi): texts from all, one exit code for all.

Only bytes and integers are sent, no pickles, so processes with different Python versions work together. The only
module of this folder that imports mpi4py; importing `MPI` starts MPI, so the import is inside the function.
"""

from __future__ import annotations

import json
import socket
import traceback
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.extra import install_extra

_KILLED = 70  # sysexits.h: an error inside the program


class MpiGroup:
    """All processes of one mpirun, one per server. Every process must call the same methods in the same order."""

    def __init__(self) -> None:
        """Start MPI. Raises KitError if mpi4py cannot be loaded."""
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise KitError(
                "discovery.no-mpi4py",
                "--mpi needs mpi4py, which cannot be loaded on {host}: {reason}",
                fix="on every server: {install}",
                install=install_extra("mpi"),
                host=socket.gethostname(),
                reason=error,
            ) from error
        self._mpi: Any = MPI
        self._world: Any = MPI.COMM_WORLD
        self.rank: int = self._world.Get_rank()
        self.size: int = self._world.Get_size()

    @contextmanager
    def abort_on_error(self) -> Iterator[None]:
        """Abort all processes if the block fails: the others would wait forever."""
        try:
            yield
        except Exception:
            traceback.print_exc()
            self._world.Abort(_KILLED)
            raise

    def gather(self, text: str) -> Sequence[str] | None:
        """The texts of all processes, in their order, on process 0; None on the others."""
        data = text.encode()
        sizes = array("q", bytes(8 * self.size)) if self.rank == 0 else None
        self._world.Gather(array("q", [len(data)]), sizes)
        if sizes is None:
            self._world.Gatherv([data, self._mpi.BYTE], None)
            return None
        received = bytearray(sum(sizes))
        self._world.Gatherv([data, self._mpi.BYTE], [received, sizes.tolist(), self._mpi.BYTE])
        texts, start = [], 0
        for size in sizes:
            texts.append(received[start : start + size].decode())
            start += size
        return texts

    def share(self, code: int) -> int:
        """The `code` of process 0, on every process."""
        shared = array("i", [code])
        self._world.Bcast(shared)
        return shared[0]

    def conclude(self, answer: object, finish: Callable[[list[Any]], int]) -> int:
        """Send an answer, as JSON, to process 0, which finishes with those of all in the order of the processes.

        Returns the exit code of `finish`, on every process.
        """
        texts = self.gather(json.dumps(answer))
        return self.share(EXIT_OK if texts is None else finish([json.loads(text) for text in texts]))
