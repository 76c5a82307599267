"""The layout of a picture: every device once, in its group, its server and its super pod."""

import json
from typing import Any

from hypothesis import given

from hccl_kit.check.engine import check_text
from hccl_kit.show.layout import picture
from hccl_kit.table.formats import write
from tests.show.pictures import broken, broken_pods, drawn, four_cards, many
from tests.tables import pod_tables, pods_value, ranks_value, tables, value


@given(tables | pod_tables)
def test_every_device_is_shown_once(table: Any) -> None:
    report = check_text(write(table), "t.json")
    if report.table is not None:
        hosts = [host for run in picture(report, report.table).runs for host in run.hosts]
        shown = sorted((host.id, card.id, card.rank) for host in hosts for card in host.cards)
        assert shown == sorted((server.id, device.id, device.rank) for server, device in table.devices())


def test_linked_cards_form_a_group_that_includes_unused_cards() -> None:
    (run,) = drawn(four_cards(4, 5, 6, 7), "910").runs
    groups = [[(card.id, card.rank) for card in group] for group in run.hosts[0].groups]
    assert groups == [[(0, None), (1, None), (2, None), (3, None)], [(4, 0), (5, 1), (6, 2), (7, 3)]]
    (run,) = drawn(four_cards(4, 5, 6, 7), "a2").runs
    assert [[card.id for card in group] for group in run.hosts[0].groups] == [[4, 5, 6, 7]]


def test_cards_outside_every_group_form_another_group() -> None:
    (run,) = drawn(four_cards(0, 1, 8, 9), "910").runs
    assert [[card.id for card in group if card.rank is not None] for group in run.hosts[0].groups] == [
        [0, 1],
        [],
        [8, 9],
    ]


def test_findings_are_assigned_to_their_card_server_and_super_pod() -> None:
    bad = next(host for run in drawn(broken(), "910").runs for host in run.hosts if host.has_findings)
    assert [finding.rule for finding in bad.findings] == ["HK206"]
    assert {card.id: [finding.rule for finding in card.findings] for card in bad.cards if card.findings} == {
        3: ["HK301"],
        7: ["HK201"],
    }
    pods = drawn(broken_pods()).pods
    assert [bool(pod.findings) for pod in pods] == [False, True]


def test_a_note_is_not_shown_as_a_finding() -> None:
    document = value()
    document["server_list"][0]["server_id"] = "127.0.0.1"
    assert [found.severity for found in check_text(json.dumps(document), "t.json").findings] == ["note"]
    shown = drawn(document)
    assert shown.findings == ()
    assert not any(host.has_findings for run in shown.runs for host in run.hosts)


def test_consecutive_servers_that_look_the_same_are_a_run() -> None:
    document = many(9)
    document["server_list"][4]["device"].pop()
    for server in document["server_list"][5:]:
        for device in server["device"]:
            device["rank_id"] = str(int(device["rank_id"]) - 1)
    runs = drawn(document).runs
    assert [len(run.hosts) for run in runs] == [4, 1, 4]
    assert [run.ranks for run in runs] == ["0-31", "32-38", "39-70"]


def test_a_server_with_a_finding_is_shown_separately() -> None:
    document = many(9)
    document["server_list"][4]["device"][0]["device_ip"] = "x"
    assert [len(run.hosts) for run in drawn(document).runs] == [4, 1, 4]


def test_a_server_outside_super_pods_comes_last() -> None:
    document = pods_value(2, 2, 2)
    document["super_pod_list"][0]["server_list"].pop()
    shown = [(pod.id, [host.id for run in pod.runs for host in run.hosts]) for pod in drawn(document).pods]
    assert shown == [("0", ["10.0.0.1"]), ("1", ["10.0.0.3", "10.0.0.4"]), (None, ["10.0.0.2"])]


def test_layers_are_named() -> None:
    shown = drawn(ranks_value(4, 2))
    assert shown.networks == ("layer 0: 2 networks, drawn above", "layer 3: cluster, 4 ranks")
    assert shown.noun == "network"


def test_the_number_of_networks_is_limited() -> None:
    document = ranks_value(40, 1)
    for rank in document["rank_list"]:
        rank["level_list"][1]["net_instance_id"] = f"plane{rank['rank_id']}"
    networks = drawn(document).networks
    assert len(networks) == 10
    assert networks[-1] == "and 32 more networks"
