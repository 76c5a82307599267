"""hccl-kit preflight --cards: servers that a fake ssh plays, each with device files and tools of its own."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from tests.cli.test_preflight import preflight
from tests.lab.hosts import needs_hosts
from tests.preflight.card_cluster import CardCluster
from tests.preflight.samples import sample
from tests.tables import ranks_value, value


@pytest.fixture
def cluster(tmp_path: Path) -> CardCluster:
    return CardCluster(tmp_path)


@needs_hosts
def test_a_dead_card_and_a_weak_module_are_named_over_ssh(cluster: CardCluster) -> None:
    lost = sample("a2/hccn-ping-lost.txt")
    for name in cluster.names:
        cluster.say(name, "ping.to.192.0.3.2", lost)
    dead, weak = cluster.names[1:]
    cluster.say(dead, "ping.1", lost)
    cluster.say(weak, "optical.0", sample("a2/hccn-optical.txt").replace("0.8500", "0.0200"))
    done = cluster.run()
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    assert done.stdout.splitlines() == [
        "3 of 3 servers answered: 0 errors, 0 differences",
        f"HK663 error: card 1 of {dead}: it reaches no card, and none reaches it (4 RoCE pings failed); "
        'its cable ends at "leaf-3" port "400GE1/1/20:2"',
        "   = HCCL would stop with EI0006",
        "   = fix: hccn_tool -i N -link -g, -optical -g and -lldp -g there; then the other end of the cable",
        f"HK664 warning: card 0 of {weak}: Rx Power2 0.02 mW (accepted: 0.1445 to 2.3), the lanes of Rx Power "
        "differ by 16.5 dB (accepted: 3)",
        "   = fix: clean or replace the module or the cable at both ends: hccn_tool -i N -optical -g shows them",
        "cards: 8 of 12 pings answered in full, in 2 rounds: 1 error, 1 warning; "
        "fastest packet of each: median 0.034 ms, at most 0.034 ms",
    ]
    assert not cluster.cards_asked_twice_at_once()


@needs_hosts
def test_a_healthy_cluster_has_one_line_and_its_json_form_is_valid(cluster: CardCluster) -> None:
    done = cluster.run("--all-pairs", "--format", "json")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    document = json.loads(done.stdout)
    Draft202012Validator(load("preflight_report")).validate(document)
    assert document["differences"] == []
    assert document["cards"] == {"rounds": 4, "pings": 24, "silent": {}, "failed": []}
    asked = (cluster.folder / f"{cluster.names[0]}.hccn/log").read_text()
    assert {
        f"-i {card} -ping -g address 192.0.{2 + other}.{to}" for card in (0, 1) for other in (0, 1) for to in (2, 3)
    } <= {line.partition(" LC_ALL")[0] for line in asked.splitlines()}
    assert not cluster.cards_asked_twice_at_once()


def test_servers_without_cards_are_exit_2(cluster: CardCluster) -> None:
    for name in cluster.names:
        (cluster.folder / f"{name}.env").unlink()
    done = cluster.run()
    assert done.returncode == 2
    assert (
        "HK670 warning: 198.51.100.[1-3]: the cards were not asked: error: no NPU found on this machine" in done.stdout
    )
    assert done.stdout.endswith("cards: 0 of 0 pings answered in full, in 2 rounds: 0 errors, 1 warning\n")


def test_a_dry_run_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value(64, 8)))
    done = preflight("t.json", "--cards", "--dry-run", folder=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "32256 pings of 512 cards in 63 rounds: in a round each card asks one other and is asked by one",
            "about 4 min to 11 min, at 3 to 10 s a ping (assumed, not measured)",
        ],
    )
    done = preflight("t.json", "--cards", "--all-pairs", "--dry-run", folder=tmp_path)
    assert "258048 pings of 512 cards in 504 rounds" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--all-pairs",), "error: --all-pairs and --dry-run need --cards"),
        (("--all", "--dry-run"), "error: --all-pairs and --dry-run need --cards"),
        (("--select", "HK663"), "HK663 is about all cards: add --cards"),
    ],
)
def test_an_option_that_has_no_effect_is_exit_2(tmp_path: Path, arguments: tuple[str, ...], error: str) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value(2, 2)))
    done = preflight("t.json", *arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert error in done.stderr


def test_more_pings_than_fit_into_memory_are_refused_before_any_ssh(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value(100, 8)))
    done = preflight("t.json", "--cards", "--all-pairs", folder=tmp_path, environ={"HCCL_KIT_SSH": "touch asked"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: 633600 pings, in 792 rounds; at most 600000 are made" in done.stderr
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--all-pairs",)])
def test_a_table_of_atlas_950_is_refused_with_what_can_be_asked_instead(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "t.json").write_text(json.dumps(ranks_value(2)))
    done = preflight("t.json", "--cards", *options, folder=tmp_path, environ={"HCCL_KIT_SSH": "touch asked"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: version 2.0 tables name no hosts, and do not say which EID of a card reaches which" in done.stderr
    assert 'fix: on each server: hccl-kit preflight TABLE --server "pod0" checks its cards, hccn_tool' in done.stderr
    assert not (tmp_path / "asked").exists()


def test_what_the_refusal_names_instead_checks_the_cards_of_atlas_950(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(ranks_value(2)))
    done = preflight("t.json", "--server", "pod0", "--select", "HK62", folder=tmp_path)
    assert done.stdout.startswith("HK620 error: no NPU found")
    assert "\nserver pod0 (" in done.stdout
