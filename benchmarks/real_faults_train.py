"""Plants a fault in one rank of `hccl-kit train`: data or a step takes an hour, its code differs, gradients are cut.

real_faults.py gives it to the ranks as their sitecustomize. HCCL_PLANT is "KIND RANK STEP"; when it happens,
the step is written to the file TRUTH.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOUR = 3600


def plant(kind: str, step: int) -> None:
    """Replace what the fault changes. Each fault imports only its own module, which the program may never need."""
    if kind == "starve":
        _starve(step)
    elif kind == "check":
        from hccl_kit.ocr.run import consistency  # noqa: PLC0415 - see above

        setattr(consistency, "code_digest", lambda *_: "ab" * 32)  # noqa: B010 - for mypy
    elif kind in ("delay", "cut"):
        _change_join(kind, step)


def _starve(step: int) -> None:
    from hccl_kit.ocr.data.feed import Feed  # noqa: PLC0415 - see above

    own = Feed.batches

    def batches(self: Feed, *args: Any, **options: Any) -> Iterator[Any]:
        for number, batch in enumerate(own(self, *args, **options)):
            if number == step:
                _note(step)
                time.sleep(HOUR)
            yield batch

    Feed.batches = batches  # type: ignore[method-assign]


def _change_join(kind: str, step: int) -> None:
    from hccl_kit.ocr.train.join import HostJoin  # noqa: PLC0415 - see above

    changed: Any = HostJoin
    own, seen = changed.__call__, iter(range(step + 1))

    def join(self: Any, *args: Any) -> Any:
        if next(seen, None) == step:
            _note(step)
            if kind == "delay":
                time.sleep(HOUR)
            total = self.total
            self.sums, self.total = self.sums[:-1], lambda given, sums: total(given[:-1], sums)
        return own(self, *args)

    changed.__call__ = join


def _note(step: int) -> None:
    Path(os.environ["TRUTH"]).write_text(f"{step}\n", encoding="utf-8")


if os.environ.get("RANK"):
    _kind, _rank, _step = os.environ["HCCL_PLANT"].split()
    if os.environ["RANK"] == _rank:
        plant(_kind, int(_step))
