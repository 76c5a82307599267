"""The spares of a job: the sources of their card addresses, and what cannot be a spare."""

import json
import sys
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.cli.spares import spares_of
from hccl_kit.launch.files import TableFile
from hccl_kit.table import formats
from tests.launch.nodes import table_of
from tests.places import FAKES

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
    for name, text in (("ssh", SSH), ("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')):
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


def one_line(server: str) -> str:
    return json.dumps(formats.to_value(table_of((server,))))


def spares(hosts: str, inventory: str | None = None) -> list[list[str]]:
    """The addresses of the cards of each spare."""
    text = Path(TABLE).read_text(encoding="utf-8")
    table = check_text(text, TABLE).table
    assert table
    found = [spare.entry for spare in spares_of(hosts, inventory, table, TableFile(TABLE, text))]
    return [[server["server_id"], *(card["device_ip"] for card in server["device"])] for server in found]


def refused(hosts: str, inventory: str | None = None) -> str:
    """Why these cannot be spares."""
    with pytest.raises(KitError) as error:
        spares(hosts, inventory)
    return error.value.render()


def test_the_inventory_provides_the_cards(folder: Path) -> None:
    assert spares("10.0.0.9", "inventory.yaml") == [["10.0.0.9", "192.0.2.9", "192.0.2.10"]]
    assert not (folder / "asked").exists()


def test_a_table_with_a_byte_order_mark_has_spares(folder: Path) -> None:
    text = (folder / TABLE).read_text(encoding="utf-8")
    (folder / TABLE).write_text(text, encoding="utf-8-sig")
    assert spares("10.0.0.9", "inventory.yaml") == [["10.0.0.9", "192.0.2.9", "192.0.2.10"]]


def test_without_inventory_the_spares_are_queried_over_ssh(folder: Path) -> None:
    assert spares("10.0.0.[9-10]") == [
        ["10.0.0.9", "192.0.2.90", "192.0.2.91"],
        ["10.0.0.10", "192.0.2.100", "192.0.2.101"],
    ]
    assert "hccl_kit.discovery.on_server 10.0.0.9 0,1 a2 1.0" in (folder / "asked").read_text()


@pytest.mark.parametrize(
    ("hosts", "message"),
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
def test_an_invalid_spare_is_refused_before_ssh(folder: Path, hosts: str, message: str) -> None:
    assert refused(hosts).startswith(f"error: {message}")
    assert not (folder / "asked").exists()
    assert not (folder / "hacked").exists()


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (None, "spare 10.0.0.9 could not list its cards: ssh: connect to host 10.0.0.9 port 22: No route to host"),
        ("hello\n", "spare 10.0.0.9 could not list its cards: it printed 'hello'"),
        ("{}\n", "the rank table of spare 10.0.0.9 has an error: "),
        ('{"a": ' + "[" * 90000 + "}\n", "the rank table of spare 10.0.0.9 has an error: "),
        ("{\x1b]0;x\x07}\n", "the rank table of spare 10.0.0.9 has an error: "),
        (
            f"{one_line('10.0.0.7')}\n",
            "the rank table of spare 10.0.0.9 describes another server",
        ),
        (
            f"{one_line('10.0.0.9')}\n",
            "HK3",  # the addresses of the first server
        ),
    ],
)
def test_an_invalid_response_of_a_spare_is_refused(folder: Path, says: str | None, message: str) -> None:
    if says is None:
        (folder / "10.0.0.9" / "down").touch()
    else:
        (folder / "10.0.0.9" / "says").write_text(says)
    error = refused("10.0.0.9")
    assert error.startswith(f"error: --spares: {message}")
    assert "\x1b" not in error


def test_a_spare_that_lacks_a_card_is_refused(folder: Path) -> None:
    assert "inventory.yaml has no address for:\n" in refused("10.0.0.10", "inventory.yaml")
    (folder / "10.0.0.10" / "ipv4.1").unlink()
    assert refused("10.0.0.10").startswith("error: --spares: spare 10.0.0.10 could not list its cards: error: ")
