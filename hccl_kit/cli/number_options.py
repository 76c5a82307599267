"""Options with numbers that several programs share. Nothing heavy is imported, since `--help` loads this."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

from hccl_kit.base.errors import KitError


def add_job(parser: argparse.ArgumentParser | argparse._ArgumentGroup, *, default: int | None = None) -> None:
    """Add `--job K` and `--jobs-per-host N`."""
    what = "which job of its hosts this is, from 0: jobs with different numbers never meet at a port"
    parser.add_argument(
        "--job",
        metavar="K",
        type=whole("--job"),
        default=default,
        help=what if default is None else f"{what} (default: {default})",
    )
    parser.add_argument(
        "--jobs-per-host",
        dest="jobs",
        metavar="N",
        type=whole("--jobs-per-host"),
        help="how many jobs a host may have, equal for all of them (default: 8)",
    )


def whole(option: str) -> Callable[[str], int]:
    """The type of an option that takes a whole number from 0 on. It raises KitError for anything else."""

    def convert(text: str) -> int:
        if not re.fullmatch("[0-9]{1,10}", text):
            raise KitError(f"{option} must be a whole number, got {text[:40]!r}")
        return int(text)

    return convert


def seconds(text: str) -> float:
    """The type of --timeout. Raises KitError if it is not a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise KitError(f"--timeout must be greater than 0 seconds, got {text}")
    return number
