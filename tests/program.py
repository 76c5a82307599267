"""The programs of the package in this process: what a user sees, without starting a Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from types import MappingProxyType
from unittest.mock import patch

from hccl_kit.base.translation import speak
from hccl_kit.cli.kit import main


def kit(
    *words: str,
    cwd: Path,
    stdin: bytes | str = b"",
    environ: Mapping[str, str] | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> CompletedProcess[str]:
    """Runs `hccl-kit WORDS` in the folder, with its standard streams redirected to files.

    `environ` replaces the environment of this process, `variables` are added to it. Bytes of the output that are not
    UTF-8 become surrogates.
    """
    with ExitStack() as stack:
        streams = {name: stack.enter_context(_file()) for name in ("stdin", "stdout", "stderr")}
        os.pwrite(streams["stdin"].fileno(), stdin.encode() if isinstance(stdin, str) else stdin, 0)
        for name, stream in streams.items():
            stack.enter_context(patch(f"sys.{name}", stream))
        stack.enter_context(patch.dict(os.environ, {**(environ or os.environ), **variables}, clear=True))
        stack.callback(os.chdir, Path.cwd())
        os.chdir(cwd)
        stack.callback(speak, "en")
        try:
            code = main(words)
        except SystemExit as end:  # of argparse
            code = int(end.code or 0)
        return CompletedProcess(words, code, *(_written(streams[name]) for name in ("stdout", "stderr")))


def _file() -> TextIOWrapper:
    return TextIOWrapper(TemporaryFile(), encoding="utf-8", newline="")


def _written(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return bytes(stream.buffer.read()).decode(errors="surrogateescape")
