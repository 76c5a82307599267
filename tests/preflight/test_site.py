"""The rules of a site: every mistake in the file is refused with its place."""

from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.discovery.installation import versions
from hccl_kit.preflight.site import GROUPS, Expected, read_site
from hccl_kit.preflight.system_settings import system_settings


def rules(folder: Path, text: str) -> dict[str, tuple[Expected, ...]]:
    file = folder / "site.yaml"
    file.write_text(text, encoding="utf-8")
    return dict(read_site(file))


def test_every_value_is_a_text_with_its_severity_and_place(tmp_path: Path) -> None:
    text = (
        "a2:\n  error:\n    versions: {cann: 8.0, torch: [2.10, 2.9]}\n  warning: {mounts: {/data: nfs4}}\na3:\n"
        "  warning: {variables: {HCCL_BUFFSIZE: 200}}\n"
    )
    made = rules(tmp_path, text)
    assert [*made] == ["a2", "a3"]
    assert made["a2"] == (
        Expected("error", "versions", "cann", ("8.0",), "site.yaml:3:22"),
        Expected("error", "versions", "torch", ("2.10", "2.9"), "site.yaml:3:34"),
        Expected("warning", "mounts", "/data", ("nfs4",), "site.yaml:4:29"),
    )


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "", "is empty"),
        ("a9: {error: {cards: {count: 8}}}", "1:1", "'a9' is not a valid key here; accepted: 910, a2"),
        ("a2: {note: {cards: {count: 8}}}", "1:6", "'note' is not a valid key here; accepted: error, warning"),
        ("a2: {error: {disks: {count: 8}}}", "1:14", "'disks' is not a valid key here; accepted: cards, versions"),
        ("a2: {error: {cards: {number: 8}}}", "1:22", "'number' is not a valid key here; accepted: count, chip"),
        ("a2: {error: {versions: {CANN: 8.0}}}", "1:25", "'CANN' is not a valid key here; accepted: driver"),
        ("a2: {error: {settings: {swap: 0}}}", "1:25", "'swap' is not a valid key here; accepted: fs.file-max"),
        ("a2: {error: {variables: {PATH: x}}}", "1:26", "'PATH' is not read; accepted: variables of HCCL"),
        ("a2: {error: {variables: {MS_TOKEN: x}}}", "1:26", "'MS_TOKEN' is not read; accepted: "),
        ("a2: {error: {mounts: {data: x}}}", "1:23", "'data' is not a path that begins with /"),
        ("a2: {error: {cards: {count: 8, count: 9}}}", "1:32", "duplicate key count"),
        ("a2: {error: {cards: {count: {least: 8}}}}", "1:29", "expected a list of 1 to 32 entries"),
        ("a2: {error: {cards: {count: []}}}", "1:29", "expected a list of 1 to 32 entries"),
        ("a2: {error: {cards: 8}}", "1:21", "expected a mapping with at least one entry; site rules are "),
    ],
)
def test_a_mistake_is_refused_with_its_place(tmp_path: Path, text: str, place: str, reason: str) -> None:
    with pytest.raises(KitError) as raised:
        rules(tmp_path, text)
    assert str(raised.value.message).startswith(f"{tmp_path}/site.yaml{place and f':{place}: '}")
    assert reason in raised.value.message


def test_the_accepted_names_are_those_that_a_machine_has(tmp_path: Path) -> None:
    assert [*GROUPS["versions"]] == [*versions(tmp_path, {})]
    assert {*system_settings(Path("/"))} - {*GROUPS["settings"]} == {
        name for name in system_settings(Path("/")) if name.startswith("mount /")
    }
