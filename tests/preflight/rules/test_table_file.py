"""The rank table file on this machine, and the variables that name one."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.table_file import another_table, passed_over, path_not_taken
from tests.preflight.nodes import faults, messages, node, write_table


def test_a_regular_file_is_not_reported(tmp_path: Path) -> None:
    here = node(path=write_table(tmp_path), environ={"RANK_TABLE_FILE": str(tmp_path / "t.json")})
    assert [*faults(path_not_taken, here), *faults(passed_over, here), *faults(another_table, here)] == []


@pytest.mark.parametrize("name", ["tables.json.d/t.json", "t.json.json", "t.txt", "t.JSON"])
def test_a_path_may_contain_json_only_at_its_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    write_table(tmp_path).rename(path)
    (message,) = messages(path_not_taken, node(path=path))
    assert message.endswith('must contain ".json" only once, at its end')


def test_the_resolved_path_is_checked_too() -> None:
    with TemporaryDirectory() as short:  # a long path would be truncated
        folder = Path(short)
        (folder / "a.json.d").mkdir()
        write_table(folder).rename(folder / "a.json.d" / "t.json")
        (folder / "t.json").symlink_to("a.json.d/t.json")
        (message,) = messages(path_not_taken, node(path=folder / "t.json"))
    assert "a.json.d" in message


def test_an_unreadable_table_is_reported(tmp_path: Path, no_privileges: None) -> None:
    (message,) = messages(path_not_taken, node(path=tmp_path / "closed" / "t.json"))
    assert "cannot be read here: Permission denied" in message


def test_circular_links_are_reported(tmp_path: Path) -> None:
    (tmp_path / "t.json").symlink_to("t.json")
    (message,) = messages(path_not_taken, node(path=tmp_path / "t.json"))
    assert "cannot be read here" in message


def test_a_table_without_a_path_on_this_machine_is_not_checked(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "t.json", "there is no table at"), (None, "standard input")):
        with pytest.raises(CannotTellError, match=reason):
            faults(path_not_taken, node(path=path))


def test_a_file_unreadable_for_its_owner_is_reported_for_torch_npu(tmp_path: Path) -> None:
    write_table(tmp_path).chmod(0o044)
    (message,) = messages(passed_over, node(path=tmp_path / "t.json"))
    assert "may not read it" in message


def test_a_variable_that_names_another_table_is_reported(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    environ = {"MINDSPORE_HCCL_CONFIG_PATH": "/opt/old_table.json", "RANK_TABLE_FILE": str(tmp_path / "other.json")}
    found = faults(another_table, node(path=path, environ=environ))
    assert [fault.hint for fault in found] == ["unset MINDSPORE_HCCL_CONFIG_PATH", "unset RANK_TABLE_FILE"]
    (message,) = messages(another_table, node(environ=environ))
    assert "which overrides RANK_TABLE_FILE" in message
