"""What a beat costs a training, what the thread behind it costs, and how long a look at many ranks takes.

python -m benchmarks.heartbeat [RANKS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hccl_kit.runtime.flight_recorder import CURVE_AT
from hccl_kit.runtime.heartbeat import Heartbeat
from hccl_kit.runtime.worker_env import LOG_DIR
from hccl_kit.watch.look import Folder
from hccl_kit.watch.text import as_text


def main() -> None:
    """Print the figures. Each is the best of several rounds, since other programs disturb some of them."""
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        heart = Heartbeat.from_environ({LOG_DIR: name, "RANK": "0", "RANK_ID": "0"})
        steps = iter(range(1 << 40))
        beat = _best(lambda: heart.beat(next(steps), loss=1.0, parts=(0.1, 0.2, 0.3)), 5000)
        life = _best(heart.recorder.sign_of_life, 500)
        print(f"a beat: {beat * 1e6:.1f} us; a sign of life, one a second: {life * 1e6:.1f} us")
        text = (Path(name) / "facts_0.jsonl").read_bytes()[:CURVE_AT]
        folder = Path(name) / "many"
        folder.mkdir()
        for rank in range(ranks):
            (folder / f"facts_{rank}.jsonl").write_bytes(text)
        look = _best(lambda: as_text(Folder(folder).look()), 1)
        print(f"a look at {ranks} ranks: {look:.2f} s")


def _best(call: Callable[[], object], times: int) -> float:
    """Seconds of one call, in the best of five rounds."""
    found = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            call()
        found.append((time.perf_counter() - began) / times)
    return min(found)


if __name__ == "__main__":
    main()
