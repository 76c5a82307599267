"""Time from the command to the end of the first step of tools/train.py, by parts.

    python -m benchmarks.first_step [--config configs/rec/crnn/crnn_small.yaml] [--rounds 3]

Recognition configurations only; the words are rendered first. Lines of the program's output mark the parts, and the
program times the first step itself. Figures are medians of the rounds, after one start that is not counted: it keeps
what it compiles and measures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

ROOT = Path(__file__).parent.parent
SAID = ("launcher ", "samples, ")
"""Texts in the program's log: the group is joined; data, network and optimizer are ready."""
CONFIG = ROOT / "configs/rec/crnn/crnn_small.yaml"
WHOLE = "from the command to the end of step 1"
BARE = 'for comparison, python -c "import mindspore"'


def main() -> None:
    """Start the trainer for one step, several times, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for part, seconds in parts(args.config, args.rounds).items():
        print(f"{part:44}{seconds:7.2f} s")


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    found = parts(CONFIG, 5 if full else 3)
    yield Row(
        f"crnn_small, {WHOLE}, not the first start", '`python -c "import mindspore"`', "s", found[WHOLE], found[BARE]
    )


def parts(config: Path, rounds: int) -> dict[str, float]:
    """The medians of all parts, and of an interpreter that only imports MindSpore."""
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words"
        render = [sys.executable, str(ROOT / "tools/render_words.py"), "--output", str(words)]
        subprocess.run([*render, "--train", "64", "--test", "4"], check=True, stdout=subprocess.DEVNULL, env=environ())
        found = [measure(config, words, Path(folder) / f"run{number}") for number in range(1 + rounds)]
    medians = {part: statistics.median(row[part] for row in found[1:]) for part in found[0]}
    return {**medians, BARE: statistics.median(bare_import() for _ in range(rounds))}


def measure(config: Path, words: Path, run: Path) -> dict[str, float]:
    """The seconds of each part of one start."""
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    command = [sys.executable, "-u", str(ROOT / "tools/train.py"), "-c", str(config), "-o", *places]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, f"train.ckpt_save_dir={run}", "train.max_steps=2"], stdout=subprocess.PIPE, text=True, env=environ()
    )
    assert process.stdout is not None
    heard = {}
    for line in process.stdout:
        heard.update({said: time.perf_counter() - began for said in SAID if said in line and said not in heard})
    if process.wait():
        raise SystemExit(f"failed: {' '.join(command)}")
    joined, ready = (heard[said] for said in SAID)
    first = json.loads((run / "summary.json").read_text())["compile_s"]
    return {
        "configuration, import of MindSpore, group": joined,
        "data, network, first weights": ready - joined,
        "first step, compilation included": first,
        WHOLE: ready + first,
    }


def bare_import() -> float:
    """Seconds of an interpreter that only imports MindSpore."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mindspore"], check=True, env=environ(), stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def environ() -> dict[str, str]:
    """The environment of this process, with the project on PYTHONPATH."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    main()
