"""Servers with cards that a fake ssh plays, each with device files and driver tools of its own; needs root."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.test_preflight import preflight
from tests.cli.test_preflight_ssh import FAKE_SSH
from tests.places import FAKES
from tests.preflight.samples import sample
from tests.tables import value

ON_SERVER = """\
# Sourced by the fake ssh: a /dev with the cards, in a mount namespace of its own, and the fake tools of this server.
[ -n "$INSIDE" ] || sleep {login}
[ -n "$INSIDE" ] || INSIDE=1 exec unshare --mount bash "$0" "$@"
mount -t tmpfs cards /dev
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/urandom c 1 9
ln -s /proc/self/fd /dev/fd
touch {davinci} /dev/davinci_manager /dev/devmm_svm /dev/hisi_hdc
export PATH="{fakes}:$PATH" FAKE_HCCN="$SERVERS/{server}.hccn" FAKE_NPU_SMI="$SERVERS/{server}.smi"
"""
CARDS = ("--cards", "--python", sys.executable, "--select", "HK663,HK664,HK665,HK666,HK667,HK668,HK669,HK67")


class CardCluster:
    """Servers with cards, of which none is this machine. To log in takes each `login` seconds longer than the last."""

    def __init__(self, folder: Path, servers: int = 3, cards: int = 2, login: float = 0.0) -> None:
        self.folder = folder
        self.made = value(servers, cards)
        for number, server in enumerate(self.made["server_list"]):
            server["server_id"] = f"198.51.100.{number + 1}"
            for card, device in enumerate(server["device"]):
                device["device_ip"] = f"192.0.{card + 2}.{number + 1}"
        davinci = " ".join(f"/dev/davinci{card}" for card in range(cards))
        self.names = [server["server_id"] for server in self.made["server_list"]]
        (folder / "t.json").write_text(json.dumps(self.made))
        ssh = folder / "fake-ssh"
        ssh.write_text(FAKE_SSH)
        ssh.chmod(0o755)
        self.variables = {"SERVERS": str(folder), "HCCL_KIT_SSH": str(ssh)}
        for number, name in enumerate(self.names):
            (folder / f"{name}.env").write_text(
                ON_SERVER.format(fakes=FAKES, server=name, davinci=davinci, login=login * number)
            )
            (folder / f"{name}.hccn").mkdir()
            (folder / f"{name}.smi").mkdir()
            for word in ("ping", "speed", "link_stat", "optical", "lldp", "stat"):
                self.say(name, f"{word}.all", sample(f"a2/hccn-{word}.txt"))
            for card in range(cards):
                self.say(name, f"link.{card}", sample("a2/hccn-link.txt"))
                self.say(name, f"ipv4.{card}", f"ipaddr:192.0.{card + 2}.9\nnetmask:255.255.255.0\n")
            smi = {
                "info": "npu-smi-info",
                "map": "npu-smi-info-m",
                "ecc.all": "npu-smi-ecc",
                "common.all": "npu-smi-common",
            }
            for file, source in smi.items():
                (folder / f"{name}.smi" / file).write_text(sample(f"a2/{source}.txt"))

    def cards_asked_twice_at_once(self) -> list[Path]:
        """The calls of each card for which hccn_tool was started while it still ran for it."""
        return [file for file in self.folder.glob("*.hccn/calls.*") if "begin\nbegin\n" in file.read_text()]

    def say(self, server: str, file: str, text: str) -> None:
        (self.folder / f"{server}.hccn" / file).write_text(text)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return preflight("t.json", *CARDS, *arguments, folder=self.folder, environ=self.variables)
