"""The folder in which the commands of a page are run exactly as documented."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.docs.blocks import Block, blocks_of, commands_of, fits
from tests.places import FAKES, ROOT

FAMILIES = ("HCCL_", "ASCEND_", "RANK_", "DEVICE_", "MS_", "OMPI_", "PMIX_", "SLURM_", "COLUMNS", "LINES")
TOOLS = "/usr/local/Ascend/driver/tools"
"""The folder of the driver tools on a server, which are fakes here."""


class Desk:
    """An empty folder on a server with eight cards, whose driver tools are fakes on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder, cards = folder / "job", folder / "cards"
        self.folder.mkdir()
        cards.mkdir()
        for card in range(8):
            address = f"192.168.{100 + card % 4}.{101 + card // 4}"
            (cards / f"ipv4.{card}").write_text(f"ipaddr:{address}\nnetmask:255.255.255.0\n")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(FAMILIES)}
        programs = Path(sys.executable).parent
        self.environ = environ | {
            "PATH": f"{FAKES}:{programs}:{environ['PATH']}",
            "FAKE_HCCN": str(cards),
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Runs the command as a user types it; returns stdout and stderr together."""
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=1800,
        )

    def printed(self, line: str) -> str:
        return self.run(line).stdout.replace(str(FAKES), TOOLS).replace(f"{self.folder}/", "")


def results(desk: Desk, block: Block) -> list[tuple[str, str]]:
    """The documented output of the block and the real output of its commands."""
    if block.kind == "file":
        path = desk.folder / block.value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return []
    if block.kind == "run":
        done = desk.run(f"set -e\n{block.text}")
        return [] if done.returncode == 0 else [("exit code 0", f"exit code {done.returncode}\n{done.stdout}")]
    if block.kind != "console":
        return []
    return [
        (f"$ {command.line}\n{command.output}", f"$ {command.line}\n{desk.printed(command.line)}")
        for command in commands_of(block)
    ]


def trains(block: Block) -> bool:
    """Whether a block has a command that trains."""
    return "$ hccl-kit train" in block.text


def follow(page: Path, folder: Path, *, update: bool, follows: Callable[[Block], bool] = lambda _: True) -> None:
    """Run the commands of a page in an empty folder and compare their output; `update` rewrites the page."""
    desk = Desk(folder)
    wrong = []
    for block in filter(follows, blocks_of(page)):
        for shown, printed in results(desk, block):
            if not fits(shown, printed):
                wrong.append(f"block at line {block.line}: shown\n{shown}\nprinted\n{printed}")
                if update:
                    page.write_text(page.read_text(encoding="utf-8").replace(shown, printed, 1), encoding="utf-8")
    assert update or not wrong, "\n".join(wrong)
