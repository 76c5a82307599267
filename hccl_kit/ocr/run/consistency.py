"""What all ranks of a job must have alike before the first step: one that differs would train or wait for ever."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

import hccl_kit
from hccl_kit.ocr.config import Config
from hccl_kit.runtime import World, assert_identical


def assert_one_job(config: Config, world: World) -> None:
    """JointError where the ranks have different configurations or versions of this package; every rank calls it."""
    if world.size > 1:
        assert_identical(_of_all(world, config.digest))
        assert_identical(
            _of_all(world, code_digest()),
            what="version of the code",
            hint="install one version of hccl_kit on all servers",
        )


def assert_one_data_set(section: str, count: int, world: World) -> None:
    """JointError where the ranks see different numbers of samples in a data set; every rank calls it."""
    if world.size > 1:
        assert_identical(
            [f"{int(number, 16)} samples" for number in _of_all(world, f"{count:016x}")],
            what=f"data set in {section}.dataset",
            hint="all servers need the same files: compare the label files with sha256sum",
            shown=True,
        )


def code_digest(folder: Path = Path(hccl_kit.__file__).parent) -> str:
    """SHA-256 of the package's modules, by name and content."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _of_all(world: World, digest: str) -> list[str]:
    """The digest, of whole bytes, of every rank; an all-reduce carries it as numbers of a byte each."""
    rows = world.gather(np.frombuffer(bytes.fromhex(digest), np.uint8).astype(np.float32))
    return [row.astype(np.uint8).tobytes().hex() for row in rows]
