"""hccl-kit launch --spares: the sources of card addresses, and errors, which are one line."""

import json
import sys
from pathlib import Path

import pytest

from hccl_kit.cli.launch import main
from hccl_kit.table import formats
from tests.launch.nodes import table_of
from tests.places import FAKES, ROOT

TABLE = "hccl_2s_4p.json"
SSH = """#!/usr/bin/env bash
# In place of ssh: the answer of a server is in the folder of its name, or in "says".
address=${*: -2:1}
echo "$*" >>"$SERVERS/asked"
[[ ! -e $SERVERS/$address/down ]] || { echo "ssh: connect to host $address port 22: No route to host" >&2; exit 255; }
[[ ! -e $SERVERS/$address/says ]] || { cat "$SERVERS/$address/says"; exit; }
export FAKE_HCCN=$SERVERS/$address
echo "Welcome {"
eval "${*: -1}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of two servers, an inventory, and two servers that a fake ssh reaches."""
    (tmp_path / TABLE).write_text(formats.write(table_of(("10.0.0.1", "10.0.0.2"))), encoding="utf-8")
    (tmp_path / "inventory.yaml").write_text("10.0.0.9: {0: 192.0.2.9, 1: 192.0.2.10}\n10.0.0.10: {0: 192.0.2.11}\n")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    kit = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hccl_kit "$@"\n'
    for name, text in (("ssh", SSH), ("hccl-kit", kit)):
        (bin_folder / name).write_text(text)
        (bin_folder / name).chmod(0o755)
    for number in (9, 10):
        server = tmp_path / f"10.0.0.{number}"
        server.mkdir()
        for card in (0, 1):
            answer = f"ipaddr:192.0.2.{number * 10 + card}\nnetmask:255.255.255.0\n"
            (server / f"ipv4.{card}").write_text(answer)
    monkeypatch.setenv("PATH", f"{bin_folder}:{FAKES}:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.setenv("SERVERS", str(tmp_path))
    monkeypatch.delenv("HCCL_KIT_SSH", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def launch(*options: str) -> int:
    return main([TABLE, "--to", "bash", *options, "--", "python", "train.py"])


def entries(folder: Path) -> list[list[str]]:
    """The addresses of the cards of each spare in the script."""
    text = (folder / "ascend4p.sh").read_text(encoding="utf-8")
    lines = text.partition("\nspare_entries=(\n")[2].partition("\n)")[0].splitlines()
    servers = [json.loads(line.strip().strip("'")) for line in lines]
    return [[server["server_id"], *(card["device_ip"] for card in server["device"])] for server in servers]


def test_the_inventory_provides_the_cards(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch("--spares", "10.0.0.9", "--inventory", "inventory.yaml") == 0
    assert capsys.readouterr().out.startswith("spares: 10.0.0.9, each for every server of the table\nwrote: ")
    assert entries(folder) == [["10.0.0.9", "192.0.2.9", "192.0.2.10"]]
    assert not (folder / "asked").exists()


def test_a_table_with_a_byte_order_mark_has_spares(folder: Path) -> None:
    text = (folder / TABLE).read_text(encoding="utf-8")
    (folder / TABLE).write_text(text, encoding="utf-8-sig")
    assert launch("--spares", "10.0.0.9", "--inventory", "inventory.yaml") == 0
    assert entries(folder) == [["10.0.0.9", "192.0.2.9", "192.0.2.10"]]


def test_without_inventory_the_spares_are_queried_over_ssh(folder: Path) -> None:
    assert launch("--spares", "10.0.0.[9-10]") == 0
    assert entries(folder) == [
        ["10.0.0.9", "192.0.2.90", "192.0.2.91"],
        ["10.0.0.10", "192.0.2.100", "192.0.2.101"],
    ]
    (one, _) = sorted((folder / "asked").read_text().splitlines(), key=len)
    assert " -- 10.0.0.9 hccl-kit gen --device_num=0,1 --product=a2 --table-version=1.0 --dry-run" in one


@pytest.mark.parametrize(
    ("spares", "message"),
    [
        ("-oProxyCommand=touch hacked", "--spares: ' ' is not allowed here; accepted: "),
        ("-oProxyCommand=id", "--spares: '-oProxyCommand=id' is not an address or a host name"),
        ("$(touch hacked)", "--spares: ' ' is not allowed here; accepted: "),
        ("10.0.0.2", "--spares: spare 10.0.0.2 is already a server of the table"),
        ("10.0.0.9,10.0.0.9", "--spares: spare 10.0.0.9 is listed twice"),
        ("a[1-99999]", "--spares: the list names more than 65536 hosts"),
        ("", "--spares: the host list is empty"),
    ],
)
def test_an_invalid_spare_is_refused_before_ssh(
    folder: Path, spares: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert launch(f"--spares={spares}") == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (folder / "asked").exists()
    assert not (folder / "hacked").exists()
    assert not (folder / "ascend4p.sh").exists()


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (None, "spare 10.0.0.9 did not answer: ssh: connect to host 10.0.0.9 port 22: No route to host"),
        ("hello\n", "spare 10.0.0.9 could not list its cards: it prints no rank table"),
        ("would write: t.json\n{\n}\n", "the rank table of spare 10.0.0.9 has an error: "),
        ("would write: t.json\n{\n" + '"a": [' * 90000 + "\n}\n", "the rank table of spare 10.0.0.9 has an error: "),
        ("would write: t.json\n{\n\x1b]0;x\x07\n}\n", "the rank table of spare 10.0.0.9 has an error: "),
        (
            f"would write: t.json\n{formats.write(table_of(('10.0.0.7',)))}\n",
            "the rank table of spare 10.0.0.9 describes another server",
        ),
        (
            f"would write: t.json\n{formats.write(table_of(('10.0.0.9',)))}\n",
            "HK3",  # the addresses of the first server
        ),
    ],
)
def test_an_invalid_response_of_a_spare_is_refused(
    folder: Path, says: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if says is None:
        (folder / "10.0.0.9" / "down").touch()
    else:
        (folder / "10.0.0.9" / "says").write_text(says)
    assert launch("--spares", "10.0.0.9") == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: --spares: {message}")
    assert "\x1b" not in printed
    assert not (folder / "ascend4p.sh").exists()


def test_a_spare_that_lacks_a_card_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch("--spares", "10.0.0.10", "--inventory", "inventory.yaml") == 2
    assert "inventory.yaml has no address for:\n" in capsys.readouterr().err
    (folder / "10.0.0.10" / "ipv4.1").unlink()
    assert launch("--spares", "10.0.0.10") == 2
    assert capsys.readouterr().err.startswith("error: --spares: spare 10.0.0.10 could not list its cards: error: ")


def test_spare_options_require_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch("--inventory", "inventory.yaml") == 2
    assert capsys.readouterr().err == "error: --inventory needs --spares\n"
    assert main([TABLE, "--to", "mpirun", "--spares", "10.0.0.9", "--", "true"]) == 2
    assert capsys.readouterr().err == "error: --spares is for --to bash, not for --to mpirun\n"


def test_a_dry_run_names_the_spares(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch("--spares", "10.0.0.9", "--inventory", "inventory.yaml", "--dry-run") == 0
    assert capsys.readouterr().out.startswith("spares: 10.0.0.9, each for every server of the table\nwould write: ")
    assert not (folder / "ascend4p.sh").exists()
