"""The boxes of Open MPI 4 and 5 about the rank that ended the job: `origins` reads which one it is."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.facts import Exited, Fact, Fault
from hccl_kit.diagnosis.logs.patterns.row import MAX_WORD, Found, Row


def _abort(found: Found) -> Iterator[Fact]:
    yield Fault(None, "LAUNCHER", "ended the job with MPI_Abort", found.record.text[:MAX_WORD].strip())


def _signal(found: Found) -> Iterator[Fact]:
    own = found.record.origin.rank
    if own is not None:
        yield Exited(own, None, int(found.match["signal"]), server=found.record.origin.server, is_first=True)


ROWS = (
    Row("MPI_ABORT was invoked", "MPI_ABORT was invoked on rank [0-9]{1,8} in communicator MPI_COMM_WORLD", _abort),
    Row("exited on signal", r"exited on signal (?P<signal>[0-9]{1,2})\b", _signal),
)
