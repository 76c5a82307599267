"""Checks that all ranks of a job are consistent before the first step: a rank that differs would hang the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.code_digest import code_digest
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.samples import Sample
from hccl_kit.runtime.consistency import JointError, assert_identical
from hccl_kit.runtime.join import World

LOOKED_AT = 1000
"""Of a longer data set, ranks compare one to two times this number of samples: millions would take seconds."""


def assert_one_job(config: Config, world: World) -> None:
    """Raises JointError if configurations or versions of this package differ between ranks. Every rank must call it."""
    if world.size > 1:
        assert_identical(gather_digests(world, config.digest))
        hint = "install one version of hccl_kit on all servers"
        assert_identical(gather_digests(world, code_digest()), what="version of the code", hint=hint)


def assert_one_data_set(section: str, samples: Sequence[Sample], world: World) -> None:
    """Raises JointError if the labels of a data set differ between ranks. Every rank must call it."""
    if world.size > 1:
        what, hint = f"data set in {section}.dataset", "all servers need the same files: compare them with sha256sum"
        counts = [f"{int(number, 16)} samples" for number in gather_digests(world, f"{len(samples):016x}")]
        assert_identical(counts, what=what, hint=hint, shown=True)
        assert_identical(gather_digests(world, labels_digest(samples)), what=what, hint=hint)


def labels_digest(samples: Sequence[Sample]) -> str:
    """SHA-256 of names and texts of samples, evenly spaced: another order has another digest."""
    digest = hashlib.sha256()
    for number in range(0, len(samples), max(1, len(samples) // LOOKED_AT)):
        sample = samples[number]
        texts = getattr(sample, "text", None), getattr(sample, "texts", None)
        digest.update(f"{sample.path.name!r} {texts!r}\n".encode())
    return digest.hexdigest()


def assert_one_dictionary(digest: str, world: World) -> None:
    """Raises JointError if the dictionaries of a task differ between ranks: a class would stand for two characters.

    `digest` is that of the dictionary, empty on all ranks if the task has none. Every rank must call it.
    """
    if world.size > 1 and digest:
        hint = "all servers need the same file: compare postprocess.character_dict_path with sha256sum"
        assert_identical(gather_digests(world, digest), what="dictionary", hint=hint)


def assert_one_file_of_weights(sha256: str, world: World) -> None:
    """Raises JointError if the ranks evaluate different weights: the sum of their counts would be that of no network.

    Every rank must call it.
    """
    if world.size > 1:
        hint = "all servers need the same file: compare eval.ckpt_load_path with sha256sum"
        assert_identical(gather_digests(world, sha256), what="file of weights", hint=hint)


def gather_digests(world: World, digest: str) -> list[str]:
    """The hexadecimal digest of every rank, sent byte by byte as float32. Every rank must call it."""
    rows = world.gather(np.frombuffer(bytes.fromhex(digest), np.uint8).astype(np.float32))
    return [row.astype(np.uint8).tobytes().hex() for row in rows]


def answer_of_first_rank(world: World, find: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """What `find` returns on rank 0, through JSON. Every rank must call it.

    Raises JointError on all ranks if `find` raises KitError: the others would wait for its answer.
    """
    answer: Mapping[str, Any] = {}
    if world.is_main:
        try:
            answer = find()
        except KitError as error:
            answer = {"error": error.message, "hint": error.hint}
    shared: dict[str, Any] = json.loads(world.share(json.dumps(answer)))
    if "error" in shared:
        raise JointError(shared["error"], hint=shared["hint"])
    return shared
