"""Which way of computing convolutions trains a network faster on this CPU: measured once, and remembered.

As matrix products with AVX-512, or plainly under AVX2 (see `hccl_kit.ocr.adapt.instruction_set`): on one Intel Xeon the
products were 1.3 times as fast, on another the plain ones 1.1 times. oneDNN's instruction set is fixed once it is used,
so each way is timed in a process of its own. Results differ by rounding only.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt.instruction_set import CPU_INFO, VARIABLE
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.config import Config, yaml_text

PRODUCTS, PLAIN = "products", "plain"
TIMEOUT = 120
MAX_BYTES = 1 << 16
_NO_SECONDS = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError)
"""What a text without the seconds of a measurement raises."""


def as_products(config: Config, cores: int, environ: Mapping[str, str], say: Callable[[str], None]) -> bool:
    """Whether `system.convolutions` or a measurement with so many cores is for matrix products.

    The measurement is kept in the cache folder, for each processor, network and batch. The ranks of a host share it:
    the first one measures, the others wait. Where it fails, products are the choice.
    """
    wanted = config["system"]["convolutions"]
    if wanted != "measure" or VARIABLE in environ:
        return bool(wanted != PLAIN)
    facts = _facts(config, cores)
    name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache(environ) / "convolutions"
    file = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as stack:
            _lock(folder, stack)
            seconds = _known(file)
            if seconds is None:
                say("measuring which way convolutions are faster on this processor: some 20 s, once")
                seconds = {way: _seconds(config, way, cores, environ) for way in (PRODUCTS, PLAIN)}
                write_atomically(file, json.dumps({"seconds": seconds, "of": facts}, indent=4) + "\n")
    except (KitError, OSError, subprocess.SubprocessError, *_NO_SECONDS) as error:
        say(f"convolutions were not measured: {' '.join(str(error).split())[:200]}")
        return True
    products, plain = seconds[PRODUCTS], seconds[PLAIN]
    say(f"a step takes {products:.3g} s with products, {plain:.3g} s with plain convolutions ({file})")
    return products <= plain


def _facts(config: Config, cores: int) -> dict[str, Any]:
    """All that the measurement depends on."""
    train = config["train"]
    loader = train["loader"]
    try:
        model = re.search(r"^model name\s*:\s*(.*)$", CPU_INFO.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        model = None
    return {
        "processor": model[1] if model else "",
        "cores": cores,
        "mindspore": importlib.metadata.version("mindspore"),
        "model": {**config["model"], "pretrained": None},
        "loss": config["loss"],
        "optimizer": config["optimizer"],
        "batch": [loader["batch_size"], train["gradient_accumulation_steps"], loader["bucket_widths"]],
        "images": train["dataset"]["transform_pipeline"],
    }


def _lock(folder: Path, stack: ExitStack) -> None:
    """Let no other process measure until the stack ends; file systems without locks let them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _known(file: Path) -> dict[str, float] | None:
    """What was measured before; None if nothing was, or the file is not one of ours."""
    if not file.is_file():
        return None
    with suppress(KitError, *_NO_SECONDS):
        seconds = json.loads(read_text(file, MAX_BYTES))["seconds"]
        return {way: float(seconds[way]) for way in (PRODUCTS, PLAIN)}
    return None


def _seconds(config: Config, way: str, cores: int, environ: Mapping[str, str]) -> float:
    """The seconds of a step in a process of its own. Raises SubprocessError, OSError or _NO_SECONDS."""
    values = {
        **config.values,
        "system": {**config["system"], "convolutions": way},
        "model": {**config["model"], "pretrained": None},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.yaml")
        file.write_text(yaml_text.dump(values), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "hccl_kit.ocr.programs.step_time", str(file), str(cores)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            env=dict(environ),
        )
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])
