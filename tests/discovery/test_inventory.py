from pathlib import Path

import pytest

from hccl_kit.discovery import inventory
from hccl_kit.errors import KitError


def file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "inventory.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_servers_and_cards_keep_their_order(tmp_path: Path) -> None:
    path = file(
        tmp_path, "# two servers\n10.0.0.2:\n  1: 192.168.101.1\n  0: 192.168.100.1\n10.0.0.1: {0: 'fd00::1'}\n"
    )
    assert inventory.read(path) == {
        "10.0.0.2": {1: "192.168.101.1", 0: "192.168.100.1"},
        "10.0.0.1": {0: "fd00::1"},
    }
    assert list(inventory.read(path)) == ["10.0.0.2", "10.0.0.1"]


@pytest.mark.parametrize("name", ["on", "1e3", "0x10", "12:30", "null", "节点1"])
def test_server_is_called_as_it_is_written(tmp_path: Path, name: str) -> None:
    assert inventory.read(file(tmp_path, f"{name}: {{0: 10.0.0.1}}\n")) == {name: {0: "10.0.0.1"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"inventory.yaml is empty; an inventory is `server:"),
        ("- 10.0.0.1\n", r":1:1: expected a mapping"),
        ("just text\n", r":1:1: expected a mapping"),
        ("a: 5\n", r":1:4: expected a mapping"),
        ("a: {}\n", r":1:4: expected a mapping with at least one entry"),
        ("a:\n  0: {x: y}\n", r":2:6: expected a plain text"),
        ("[a]: {0: 10.0.0.1}\n", r":1:1: expected a plain text"),
        ("a: &x {0: 10.0.0.1}\nb:\n  <<: *x\n", r":3:3: expected a plain text"),
        ("a: {0: 10.0.0.1}\nb: {0: 10.0.0.2}\na: {0: 10.0.0.3}\n", r":3:1: server a stands twice"),
        ("a:\n  0: 10.0.0.1\n  0: 10.0.0.2\n", r":3:3: card 0 stands twice in this server"),
        ("a:\n  00: 10.0.0.1\n", r":2:3: '00' is not a device id; accepted: 0 to 1023"),
        ("a:\n  1024: 10.0.0.1\n", r":2:3: '1024' is not a device id"),
        ("a:\n  ٣: 10.0.0.1\n", r":2:3: '٣' is not a device id"),
        ("a:\n  0: 10.0.0.300\n", r":2:6: '10.0.0.300' is not an IP address"),
        ("a:\n  0: !!python/object:os.system x\n", r":2:6: 'x' is not an IP address"),
        ("a: {0: 10.0.0.1}\nb: {0: 10.0.0.1}\n", r":2:8: address 10.0.0.1 is taken already, at .*:1:8"),
        ("a: {0: 10.0.0.1\n", r":2:1: not YAML: expected ',' or '}'"),
        ("a: *b\n", r":1:4: not YAML: found undefined alias"),
        ("a: {0: 10.0.0.1}\n---\nb: {0: 10.0.0.2}\n", r":2:1: not YAML: but found another document"),
        ("a: \x07\n", r"not YAML: unacceptable character"),
        (b"a: \xff\n", r"is not UTF-8 text: byte 3 is 0xff"),
        ("[" * 5000, r"nested too deep"),
        (b"#" * (inventory.MAX_FILE + 1), r"is larger than 4194304 bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(KitError, match=message):
        inventory.read(file(tmp_path, text))


def test_one_server_gives_its_cards(tmp_path: Path) -> None:
    path = file(tmp_path, "a: {0: 10.0.0.1, 1: 10.0.0.2}\nb: {0: 10.0.1.1}\n")
    assert inventory.addresses(path, "a", [1, 0]) == {1: "10.0.0.2", 0: "10.0.0.1"}
    with pytest.raises(KitError, match=r"inventory\.yaml has no server c; it has: a, b$"):
        inventory.addresses(path, "c", [0])
    with pytest.raises(KitError, match=r"has no address for card 1, 2 of server b; it has: 0$"):
        inventory.addresses(path, "b", [0, 1, 2])


def test_long_lists_are_cut(tmp_path: Path) -> None:
    path = file(tmp_path, "".join(f"node{i}: {{0: 10.0.{i}.1}}\n" for i in range(20)))
    with pytest.raises(KitError, match=r"it has: node0, .*, node15 and 4 more$"):
        inventory.addresses(path, "node99", [0])


def test_a_device_is_refused() -> None:
    with pytest.raises(KitError, match="cannot read /dev/zero: it is not a regular file"):
        inventory.read(Path("/dev/zero"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"cannot read .*/none\.yaml: No such file"):
        inventory.read(tmp_path / "none.yaml")
