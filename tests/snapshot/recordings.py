"""A machine from an archive of `hccl-kit snapshot --raw`: a folder as its root, and tools on PATH that repeat it."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

from hccl_kit.preflight.machine import node_of_all_cards
from hccl_kit.preflight.node import Node

TOOL = """\
#!/bin/sh
# The tool of this name in a recording: each file in `answers` is what it printed for the words in its name.
exec cat "$(dirname "$0")/answers/$(basename "$0") $*"
"""


def member(archive: bytes, name: str) -> Any:
    """The document of this name in an archive."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        file = opened.extractfile(f"hccl-kit-recording/{name}")
        assert file is not None
        return json.load(file)


def replayed(archive: bytes, folder: Path) -> Node:
    """The machine with all of its cards; `folder` is empty."""
    recording = member(archive, "recording.json")
    (folder / "bin" / "answers").mkdir(parents=True)
    (folder / "root" / "dev").mkdir(parents=True)
    for name in ("davinci_manager", *(f"davinci{card}" for card in recording["cards"])):
        (folder / "root" / "dev" / name).touch()
    for query in recording["queries"]:
        tool = folder / "bin" / query["command"][0]
        tool.write_text(TOOL)
        tool.chmod(0o755)
        (folder / "bin" / "answers" / " ".join(query["command"])).write_text(query["output"])
    return node_of_all_cards(folder / "root", {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": "/root"})
