"""What a document is, told by its keys and version."""

import pytest

from hccl_kit.formats import read, recognise
from hccl_kit.rank_table import RankTable
from tests.tables import value


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (value(), "1.0"),
        ({"version": "1.2", "server_list": []}, "1.2"),
        ({"version": "1.1", "node_list": []}, "1.1"),
        ({"version": "2.0", "rank_list": []}, "2.0"),
        ({"group_list": []}, "template2"),
        ({"version": "1.0", "server_group_list": []}, "mindie-global"),
        ({"version": "1.2", "prefill_device_list": []}, "prefill-decode"),
        ({"version": "2.0", "peer_list": [], "edge_list": []}, "topology"),
        ({"rank_list": []}, "2.0"),
        ({"node_list": []}, "1.1"),
        ({}, "1.0"),
        ([], "1.0"),
        ({"version": 1.0}, "1.0"),
    ],
)
def test_a_document_is_recognised(document: object, name: str) -> None:
    kind = recognise(document)
    assert kind is not None
    assert kind.name == name


@pytest.mark.parametrize("version", ["1.3", "3.0", "", "1.0 ", "v1.0"])
def test_an_unknown_version_is_no_kind(version: str) -> None:
    assert recognise({"version": version}) is None


@pytest.mark.parametrize("document", [{}, [], None, {"version": "2.0"}, value() | {"status": 1}])
def test_what_is_not_read_has_at_least_one_fault(document: object) -> None:
    outcome = read(document)
    assert not isinstance(outcome, RankTable)
    assert outcome
