"""The public functions of mindspore.communication that are used to join a group."""

import os

from mindspore import record


def init(backend_name: str | None = None) -> None:
    record("init", *([backend_name] if backend_name else []))


def get_rank() -> int:
    record("get_rank")
    return int(os.environ["FAKE_WORLD"].split()[0])


def get_group_size() -> int:
    record("get_group_size")
    return int(os.environ["FAKE_WORLD"].split()[1])
