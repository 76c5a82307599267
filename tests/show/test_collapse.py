"""Collapsing: nothing is lost, little is shown, and servers with findings have priority."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.show.collapse import collapsed, one_by_one, with_ends
from hccl_kit.show.layout import Host, Picture
from tests.show.pictures import drawn, many, unlike
from tests.tables import pods_value

PODS = drawn(pods_value(6, 5, 2))
UNLIKE = drawn(unlike(40))


def hosts_of(picture: Picture) -> list[Host]:
    return [host for run in picture.runs for host in run.hosts]


@pytest.mark.parametrize("picture", [PODS, UNLIKE, drawn(many(9))], ids=["pods", "unlike", "alike"])
def test_parts_hold_the_same_servers_in_the_same_order(picture: Picture) -> None:
    for parts in (one_by_one(picture), with_ends(picture)):
        assert hosts_of(parts) == hosts_of(picture)
    assert {len(run.hosts) for run in one_by_one(picture).runs} == {1}


def test_the_ends_of_a_run_are_shown_separately() -> None:
    assert [len(run.hosts) for run in with_ends(drawn(many(9))).runs] == [1, 7, 1]
    assert [len(run.hosts) for run in with_ends(drawn(many(2))).runs] == [1, 1]
    assert [len(run.hosts) for run in with_ends(drawn(many(1))).runs] == [1]


@given(st.integers(1, 50), st.sampled_from([PODS, one_by_one(PODS), UNLIKE]))
def test_the_number_of_shown_servers_is_limited_and_the_others_are_counted(most: int, picture: Picture) -> None:
    small = collapsed(picture, most)
    stay = [run for run in small.runs if run.is_uniform]
    assert len(stay) == min(most, len(picture.runs))
    assert len(small.runs) <= 2 * len(stay) + len(small.pods)
    assert len(small.pods) + small.more_pods == len(picture.pods)
    if not small.more_pods:
        assert hosts_of(small) == hosts_of(picture)


def test_every_super_pod_keeps_its_first_server_before_one_keeps_its_second() -> None:
    small = collapsed(one_by_one(PODS), 8)
    assert [sum(run.is_uniform for run in pod.runs) for pod in small.pods] == [2, 2, 1, 1, 1, 1]


def test_servers_with_findings_are_kept() -> None:
    document = pods_value(6, 5, 2)
    for place in (13, 29):
        document["server_list"][place]["device"][1]["device_ip"] = "x"
    small = collapsed(one_by_one(drawn(document)), 2)
    assert [run.hosts[0].id for run in small.runs if run.is_uniform] == ["10.0.0.14", "10.0.0.30"]
    assert small.more_pods == 4


def test_a_super_pod_without_servers_is_kept() -> None:
    document = pods_value(3, 1, 2)
    document["super_pod_list"][1]["server_list"] = []
    picture = drawn(document)
    assert [len(pod.runs) for pod in collapsed(picture, 9).pods] == [len(pod.runs) for pod in picture.pods]
