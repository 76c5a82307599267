import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from hccl_kit.base.errors import KitError
from hccl_kit.discovery import inventory
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.model import Address, Level
from tests.places import ROOT

SCHEMA = json.loads((ROOT / "schemas" / "inventory.schema.json").read_text(encoding="utf-8"))
FULL = """\
10.0.0.1:
  host_ip: 10.0.0.1
  super_pod: 7
  0: 192.168.100.101/24
  1: {ip: 192.168.101.101, netmask: 255.255.255.0, sdid: 4194304}
node2:
  8:
    local_id: 3
    level_list:
      - net_layer: 0
        net_instance_id: srv0
        net_type: TOPO_FILE_DESC
        rank_addr_list:
          - {addr_type: EID, addr: 000000000000002000100000dfdf0001, ports: [0/1, d2h], plane_id: 0}
      - net_layer: 1
        net_instance_id: all
        net_attr: x
        rank_addr_list: [{addr_type: IPV4, addr: 10.1.0.1, ports: [0/2]}]
"""


def file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "inventory.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def obeys_schema(text: str) -> bool:
    """Whether the inventory is valid by the schema, with every scalar as a string."""
    return bool(Draft202012Validator(SCHEMA).is_valid(yaml.load(text, yaml.BaseLoader)))


def test_the_order_of_servers_and_cards_is_kept(tmp_path: Path) -> None:
    path = file(
        tmp_path, "# two servers\n10.0.0.2:\n  1: 192.168.101.1\n  0: 192.168.100.1\n10.0.0.1: {0: 'fd00::1'}\n"
    )
    servers = inventory.read(path)
    assert list(servers) == ["10.0.0.2", "10.0.0.1"]
    assert list(servers["10.0.0.2"].cards.items()) == [(1, Card("192.168.101.1")), (0, Card("192.168.100.1"))]
    assert servers["10.0.0.1"] == Host("10.0.0.1", {0: Card("fd00::1")})


def test_every_field_is_read(tmp_path: Path) -> None:
    first, second = inventory.read(file(tmp_path, FULL)).values()
    cards = {0: Card("192.168.100.101", 24), 1: Card("192.168.101.101", 24, sdid=4194304)}
    assert first == Host("10.0.0.1", cards, host_ip="10.0.0.1", super_pod="7")
    (card,) = second.cards.values()
    eid = Address("EID", "000000000000002000100000dfdf0001", ("0/1", "d2h"), {"plane_id": "0"})
    assert (card.ip, card.local_id) == (None, 3)
    assert card.levels == (
        Level(0, "srv0", (eid,), "TOPO_FILE_DESC"),
        Level(1, "all", (Address("IPV4", "10.1.0.1", ("0/2",)),), None, {"net_attr": "x"}),
    )


def test_reads_json(tmp_path: Path) -> None:
    assert inventory.read(file(tmp_path, '{"a": {"0": "10.0.0.1"}}\n')) == {"a": Host("a", {0: Card("10.0.0.1")})}


@pytest.mark.parametrize("name", ["on", "1e3", "0x10", "12:30", "null", "节点1"])
def test_a_server_keeps_its_spelling(tmp_path: Path, name: str) -> None:
    assert inventory.read(file(tmp_path, f"{name}: {{0: 10.0.0.1}}\n")) == {name: Host(name, {0: Card("10.0.0.1")})}


LEVEL = "a:\n  0:\n    level_list: [{net_layer: 0, net_instance_id: s, rank_addr_list: "
STRUCTURE = [
    ("- 10.0.0.1\n", r":1:1: expected a mapping"),
    ("just text\n", r":1:1: expected a mapping"),
    ("a: 5\n", r":1:4: expected a mapping"),
    ("a: {}\n", r":1:4: expected a mapping with at least one entry"),
    ("a:\n  0: {x: y}\n", r":2:7: 'x' is not a valid key here; accepted: ip, netmask, sdid, local_id, level_list"),
    ("a:\n  0: {ip: {x: y}}\n", r":2:11: expected a scalar"),
    ("a:\n  0: [10.0.0.1]\n", r":2:6: expected a scalar"),
    ("a:\n  0: {netmask: 24}\n", r":2:6: a card needs at least one of ip, sdid, level_list"),
    ("a:\n  0: {sdid: x}\n", r":2:13: 'x' is not an integer from 0 to 4294967295"),
    ("a:\n  super_pod: [1]\n  0: 10.0.0.1\n", r":2:14: expected a scalar"),
    ("a:\n  00: 10.0.0.1\n", r":2:3: '00' is not a device id; accepted: 0 to 1023, host_ip and super_pod"),
    ("a:\n  1024: 10.0.0.1\n", r":2:3: '1024' is not a device id"),
    ("a:\n  ٣: 10.0.0.1\n", r":2:3: '٣' is not a device id"),
    ("a:\n  0: {level_list: []}\n", r":2:19: expected a list of 1 to 8 entries"),
    ("a:\n  0: {level_list: {net_layer: 0}}\n", r":2:19: expected a list of 1 to 8 entries"),
    (LEVEL + "[]}]\n", r":3:69: expected a list of 1 to 24 entries"),
    (LEVEL + "[{addr_type: EID, addr: 1}]}]\n", r":3:70: ports missing here"),
    (LEVEL + "[{addr_type: EID, addr: 1, ports: [0/1], port: 1}]}]\n", r":3:110: 'port' is not a valid key here"),
    ("a: {0: {level_list: [{net_layer: 0}]}}\n", r":1:22: net_instance_id, rank_addr_list missing here"),
]
BEYOND_SCHEMA: list[tuple[str | bytes, str]] = [
    ("", r"inventory.yaml is empty; an inventory is `server:"),
    ("[a]: {0: 10.0.0.1}\n", r":1:1: expected a scalar"),
    ("a: {0: 10.0.0.1}\nb: {0: 10.0.0.2}\na: {0: 10.0.0.3}\n", r":3:1: duplicate server a"),
    ("a:\n  0: 10.0.0.1\n  0: 10.0.0.2\n", r":3:3: duplicate card 0 in this server"),
    ("a: {host_ip: 10.0.0.1, host_ip: 10.0.0.1}\n", r":1:24: duplicate key host_ip in this server"),
    ("a:\n  0: {ip: 10.0.0.1, ip: 10.0.0.2}\n", r":2:21: duplicate key ip"),
    ("a:\n  0: 10.0.0.300\n", r":2:6: '10.0.0.300' is not an IP address"),
    ("a:\n  0: 10.0.0.3/33\n", r":2:6: '33' is not a valid prefix length; accepted: 0 to 32"),
    ("a:\n  0: fd00::1/129\n", r":2:6: '129' is not a valid prefix length; accepted: 0 to 128"),
    ("a:\n  0: {ip: 10.0.0.3/24, netmask: 24}\n", r":2:33: the address already has a prefix length"),
    ("a:\n  0: {ip: 10.0.0.3, netmask: 255.0.255.0}\n", r":2:30: '255.0.255.0' is not a netmask"),
    ("a:\n  host_ip: x\n  0: 10.0.0.3\n", r":2:12: 'x' is not an IP address"),
    ("a:\n  0: {ip: 10.0.0.3, local_id: 65}\n", r":2:31: '65' is not an integer from 0 to 64"),
    ("a:\n  0: {sdid: 4294967296}\n", r":2:13: '4294967296' is not an integer"),
    ("a:\n  0: !!python/object:os.system x\n", r":2:6: 'x' is not an IP address"),
    ("a: {0: 10.0.0.1}\nb: {0: 10.0.0.1}\n", r":2:8: address 10.0.0.1 is already used at .*:1:8"),
    ("a: {0: 10.0.0.1\n", r":2:1: not YAML: .*expected ',' or '}'"),
    ("a: &x {0: 10.0.0.1}\nb: *x\n", r":2:4: \*x is an alias; replace it by its value"),
    ("a: &x {0: 10.0.0.1}\nb:\n  <<: {0: 10.0.0.1}\n", r":3:3: expected a scalar"),
    ("a: {0: 10.0.0.1}\n---\nb: {0: 10.0.0.2}\n", r":2:1: expected a single document"),
    ("a: \x07\n", r"not YAML: unacceptable character"),
    (b"a: \xff\n", r"is not UTF-8: byte 3"),
    ("[" * 20, r":1:16: nested deeper than 16 levels"),
    ("- " * 20, r":1:31: nested deeper than 16 levels"),
    # The position of this number depends on the version of libyaml, which has its own limit.
    ("[" * 500_000, r":1:\d+: nested deeper than 16 levels"),
    ("- " * 500_000, r":1:\d+: nested deeper than 16 levels"),
]


@pytest.mark.parametrize(("text", "message"), [*STRUCTURE, *BEYOND_SCHEMA])
def test_an_error_is_reported_with_its_position(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(KitError, match=message):
        inventory.read(file(tmp_path, text))


@pytest.mark.parametrize("text", ["a: {0: X}", "a: {X: 1}", "a: {0: {ip: 1.1.1.1, netmask: X}}", "a: {0: {X: 1}}"])
def test_of_a_long_value_the_beginning_is_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(KitError, match=r"'9{80}' is not a") as refused:
        inventory.read(file(tmp_path, text.replace("X", "9" * 900)))
    assert len(refused.value.message) < 400


@pytest.mark.parametrize("text", [text for text, _ in STRUCTURE])
def test_the_schema_rejects_what_the_reader_rejects(text: str) -> None:
    assert not obeys_schema(text)


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    assert obeys_schema(FULL)
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(json.dumps(yaml.safe_load(FULL.replace("0000000", "e")))))
    Draft202012Validator.check_schema(SCHEMA)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as large:
        large.truncate(inventory.MAX_FILE + 1)
    with pytest.raises(KitError, match="is larger than 67108864 bytes"):
        inventory.read(path)


def test_more_cards_than_hccl_supports_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "MAX_CARDS", 3)
    text = "a: {0: 10.0.0.1, 1: 10.0.0.2}\nb: {0: 10.0.1.1%s}\n"
    assert len(inventory.read(file(tmp_path, text % ""))) == 2
    with pytest.raises(KitError, match=":2:1: the inventory has more than 3 cards"):
        inventory.read(file(tmp_path, text % ", 1: 10.0.1.2"))


def test_servers_are_returned_in_the_requested_order(tmp_path: Path) -> None:
    path = file(tmp_path, "a: {0: 10.0.0.1, 1: 10.0.0.2}\nb: {host_ip: 10.1.1.1, 0: 10.0.1.1, 1: 10.0.1.2}\n")
    first, second = inventory.hosts(path, ["b", "a"], [1, 0])
    assert list(first.cards.items()) == [(1, Card("10.0.1.2")), (0, Card("10.0.1.1"))]
    assert (first.id, first.host_ip, second.id) == ("b", "10.1.1.1", "a")
    assert [host.id for host in inventory.hosts(path, None, [0])] == ["a", "b"]


def test_missing_fields_of_a_server_are_named(tmp_path: Path) -> None:
    path = file(tmp_path, "a: {0: 10.0.0.1, 1: 10.0.0.2}\nb: {0: 10.0.1.1}\n")
    with pytest.raises(KitError, match=r"inventory\.yaml has no server c, d; it has: a, b$"):
        inventory.hosts(path, ["a", "c", "d"], [0])
    with pytest.raises(KitError, match=r"has no address for:\n    card 1, 2 of server b; it has: 0$"):
        inventory.hosts(path, ["b"], [0, 1, 2])
    with pytest.raises(KitError, match=r"\n    card 2 of server a; it has: 0, 1\n    card 1, 2 of server b"):
        inventory.hosts(path, None, [0, 1, 2])


def test_long_lists_are_truncated(tmp_path: Path) -> None:
    path = file(tmp_path, "".join(f"node{i}: {{0: 10.0.{i}.1}}\n" for i in range(20)))
    with pytest.raises(KitError, match=r"it has: node0, .*, node15 and 4 more$"):
        inventory.hosts(path, ["node99"], [0])
    with pytest.raises(KitError, match=r"of server node15; it has: 0\n    and 4 more$"):
        inventory.hosts(path, None, [1])


def test_a_device_is_refused() -> None:
    with pytest.raises(KitError, match="cannot read /dev/zero: it is not a regular file"):
        inventory.read(Path("/dev/zero"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"cannot read .*/none\.yaml: No such file"):
        inventory.read(tmp_path / "none.yaml")
