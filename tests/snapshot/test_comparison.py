"""How snapshots differ, in words."""

from collections.abc import Mapping

from hccl_kit.preflight.machine import Machine
from hccl_kit.snapshot.comparison import MAX_LINES, as_text, compare_servers, compare_snapshots
from hccl_kit.snapshot.document import THIS, Snapshot
from tests.snapshot.machines import CARD, machine


def two(first: Machine, second: Machine) -> list[str]:
    compared = compare_snapshots(Snapshot({THIS: first}), Snapshot({THIS: second}), ("a.json", "b.json"))
    return as_text(compared).splitlines()


def many(servers: Mapping[int, Machine], count: int = 8) -> list[str]:
    machines = {f"server {number}": servers.get(number, machine()) for number in range(count)}
    return as_text(compare_servers(Snapshot(machines))).splitlines()


def test_equal_machines_have_no_difference() -> None:
    assert two(machine(), machine()) == many({}) == ["no difference"]


def test_the_most_telling_difference_comes_first() -> None:
    second = machine(
        packages={"attrs": "23.2.1", "einops": "0.9.0"},
        settings={"vm.swappiness": "10"},
        variables={"HCCL_BUFFSIZE": "400", "TERM": "screen"},
        cards={"3": {**CARD, "link": "DOWN"}, "5": {**CARD, "link": "DOWN"}},
        versions={"driver": "24.1.0"},
    )
    assert two(machine(), second) == [
        "version of driver: 25.2.0 (a.json); 24.1.0 (b.json)",
        "link of card 3, card 5: UP (a.json); DOWN (b.json)",
        "HCCL_BUFFSIZE: 200 (a.json); 400 (b.json)",
        "TERM: xterm (a.json); screen (b.json)",
        "vm.swappiness: 60 (a.json); 10 (b.json)",
        "package einops: 0.8.0 (a.json); 0.9.0 (b.json)",
        "package attrs: 23.2.0 (a.json); 23.2.1 (b.json)",
        "7 differences",
    ]


def test_of_many_servers_the_odd_ones_are_named() -> None:
    old, other = machine(versions={"driver": "24.1.0"}), machine(variables={"HCCL_ALGO": "ring"})
    assert many({2: old, 6: old, 7: other}) == [
        "version of driver: 25.2.0 (6 of 8 servers); 24.1.0 (server 2, server 6)",
        "HCCL_ALGO: absent (7 of 8 servers); ring (server 7)",
        "2 differences",
    ]


def test_of_many_values_the_most_frequent_are_shown() -> None:
    alike = {number: machine(variables={"HCCL_IF_IP": "here"}) for number in range(5)}
    unlike = {number: machine(variables={"HCCL_IF_IP": str(number)}) for number in range(5, 20)}
    (line, _) = many({**alike, **unlike}, 20)
    assert line.startswith("HCCL_IF_IP: here (server 0, server 1, server 2, server 3, server 4); 5 (server 5); 6 (")
    assert line.endswith(
        "; 11 (server 11); 8 other values (server 12, server 13, server 14, server 15, server 16, server 17, "
        "server 18, server 19)"
    )


def test_a_lost_card_is_one_difference() -> None:
    assert two(machine(), machine(7)) == ["ids of the cards: 0-7 (a.json); 0-6 (b.json)", "1 difference"]


def test_marks_are_compared_within_a_file_only() -> None:
    first, second = (machine(variables={"MASTER_ADDR": f"<host {number}>"}) for number in (1, 2))
    not_compared = "not compared, since masked, cut or in one of them only: MASTER_ADDR"
    assert two(first, first) == two(first, second) == ["no difference", not_compared]
    assert many({0: first, 1: second}, 2)[0] == "MASTER_ADDR: <host 1> (server 0); <host 2> (server 1)"
    assert two(first, machine(variables={"MASTER_ADDR": "127.0.0.1"}))[-1] == "1 difference"
    for equal in ("<hidden>", "x" * 200):
        text = machine(variables={"HCCL_X": equal})
        assert two(text, text)[0] == "no difference"
        assert two(text, text)[1].endswith(": HCCL_X")


def test_tables_weights_and_servers_of_two_snapshots() -> None:
    first = Snapshot({"server 0": machine(), "server 1": machine()}, table={"digest": "a"}, weights={"w.ckpt": "1"})
    second = Snapshot({"server 0": machine()}, {"server 1": "no answer"}, {"digest": "b"}, {"w.ckpt": "2"})
    assert as_text(compare_snapshots(first, second, ("a", "b"))).splitlines() == [
        "digest of the table: a (a); b (b)",
        "server 1: answered (a); did not answer (b)",
        "weights w.ckpt: 1 (a); 2 (b)",
        "3 differences",
    ]
    assert as_text(compare_snapshots(first, second._replace(weights={}), ("a", "b"))).endswith(": weights")


def test_equal_differences_of_many_servers_are_one_line() -> None:
    first = Snapshot({f"server {number}": machine() for number in range(3)})
    second = Snapshot({name: machine(versions={"driver": "24.1.0"}) for name in first.servers})
    assert as_text(compare_snapshots(first, second, ("a", "b"))).splitlines() == [
        "version of driver of server 0, server 1, server 2: 25.2.0 (a); 24.1.0 (b)",
        "1 difference",
    ]


def test_what_a_stranger_wrote_is_short_and_without_control_characters() -> None:
    hostile = machine(packages={f"p{number}\033[2J": "1\n2" * 999 for number in range(2 * MAX_LINES)})
    lines = two(machine(), hostile)
    assert len(lines) == MAX_LINES + 2
    assert all(line.isprintable() and len(line) < 200 for line in lines)
