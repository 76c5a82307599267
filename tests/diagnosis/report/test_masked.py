"""A masked diagnosis can be shown to third parties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.report.html import as_html
from hccl_kit.diagnosis.report.json_form import as_json
from hccl_kit.diagnosis.report.masked import masked
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect
from tests.diagnosis.answers import fault_of
from tests.diagnosis.report.diagnoses import diagnoses, port_taken


def forms(diagnosis: Diagnosis, *names: str) -> str:
    hidden = masked(diagnosis, names, names)
    return as_text(hidden) + as_json(hidden) + as_html(hidden)


def told(sentence: str, file: str = "10.0.0.1/plog-1.log", server: str = "10.0.0.4") -> Diagnosis:
    """The masked form of a diagnosis with this fix, this file as evidence, and this server."""
    fault = port_taken().first_fault
    assert fault
    suspect = Suspect(27, server, 3)
    return port_taken()._replace(
        fix=sentence, evidence=(Place(file, 7),), first_fault=fault._replace(suspect=suspect), suspects=(suspect,)
    )


def test_addresses_are_masked_and_equal_ones_stay_equal() -> None:
    shown = forms(port_taken())
    assert "10.0.0" not in shown
    hidden = masked(port_taken())
    server = fault_of(hidden).suspect.server
    assert server
    assert server == hidden.suspects[0].server
    assert server in hidden.fix
    assert len({one.suspect.server for one in hidden.ranks}) == 4


def test_ranks_cards_times_and_file_names_are_not_masked() -> None:
    shown = as_text(masked(port_taken()))
    for part in (
        "rank 27",
        "card 3",
        "21:37:51",
        "16666",
        "[HK701 EI0019]",
        "/debug/plog/plog-4727_20251120213751000.log:812",
    ):
        assert part in shown


@pytest.mark.parametrize(
    ("file", "private"),
    [
        ("/home/alice/ascend/log/debug/plog/plog-1_2.log", "alice"),
        ("/data/secret-project/run/plog/plog-1_2.log", "secret-project"),
        ("node17.lab.example/debug/plog/plog-1.log", "node17"),
        ("logs/alices-notes.log", "alices"),
        ("log.10.0.0.7.debug/plog-1.log", "10.0.0.7"),
    ],
)
def test_names_in_paths_are_masked(file: str, private: str) -> None:
    shown = forms(told(f"look into {file}, then into {file}:7", file))
    assert private not in shown
    assert f"{file.rsplit('/', maxsplit=1)[-1] if 'alices' not in file else ''}" in shown


@pytest.mark.parametrize(
    ("sentence", "private"),
    [
        ("ssh trainer@gpu-7 kill 4711", "gpu-7"),
        ("no route to gpu-7.cluster.local", "gpu-7"),
        ("end process 4711 on node17", "node17"),
        ("rm -rf /home/bob/ascend", "bob"),
        ("alice is the owner", "alice"),
        ("listen on [fd00::17]:60000", "fd00"),
        ("card 02:42:ac:11:00:02", "ac:11"),
    ],
)
def test_names_in_sentences_are_masked(sentence: str, private: str) -> None:
    assert private not in forms(told(sentence, server="node17"), "alice")


def test_words_of_sentences_are_not_masked() -> None:
    sentence = "set HCCL_NPU_SOCKET_PORT_RANGE=auto and/or restart rank 7 at 21:37:51, TCP/IP, CANN 8.5.0"
    assert masked(told(sentence)).fix == sentence


@given(diagnoses, st.ip_addresses(v=4).filter(lambda address: not (address.is_loopback or address.is_unspecified)))
def test_no_address_is_left(diagnosis: Diagnosis, address: object) -> None:
    given_one = diagnosis._replace(
        fix=f"kill 1 on {address}", notes=(f"log_{address}.txt",), evidence=(Place(f"a/{address}/b-{address}.log", 1),)
    )
    hidden = masked(given_one)
    for text in (hidden.fix, *hidden.notes, hidden.evidence[0].file):
        assert str(address) not in text


@given(diagnoses)
def test_a_mask_changes_names_only(diagnosis: Diagnosis) -> None:
    hidden = masked(diagnosis)
    assert len(hidden.cascade) == len(diagnosis.cascade)
    assert [one.rank for one in hidden.suspects] == [one.rank for one in diagnosis.suspects]
    assert hidden.certainty == diagnosis.certainty
