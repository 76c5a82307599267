"""hccl-check on folders, and with settings, as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.cli.test_check import BAD, check
from tests.tables import text


def tree(root: Path, **files: str) -> Path:
    """Creates .json files below `root`; "__" in a name is a "/"."""
    for name, content in files.items():
        path = root / (name.replace("__", "/") + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def test_tables_in_a_folder_are_recognised_by_their_content(tmp_path: Path) -> None:
    tree(
        tmp_path,
        good=text(),
        a__b__other_name=BAD,
        broken='{"server_list": [',
        package='{"name": "x", "files": ["server_list"]}',
        schema='{"properties": {"server_list": {}}}',
    )
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "bad.json").write_text(BAD)
    (tmp_path / "no_json.txt").write_text(BAD)
    done = check(".", "--format", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    found = {result["file"]: result["ok"] for result in json.loads(done.stdout)["results"]}
    assert found == {"a/b/other_name.json": False, "broken.json": False, "good.json": True}


def test_the_number_of_files_is_reported(tmp_path: Path) -> None:
    tree(tmp_path, tables__good=text(), tables__bad=BAD, one=text())
    last = [
        check(*arguments, cwd=tmp_path).stdout.split("\n")[-2]
        for arguments in (("tables",), ("tables", "one.json"), ("tables", "--ignore", "HK2"))
    ]
    assert last == [
        "checked 2 files, 1 with errors",
        "checked 3 files, 1 with errors",
        "checked 2 files, none with errors",
    ]
    assert check("tables", "--ignore", "HK2", "--quiet", cwd=tmp_path).stdout == ""
    assert "checked 1 file" not in check("one.json", cwd=tmp_path).stdout


def test_a_folder_without_tables_is_exit_2_after_the_rest_is_checked(tmp_path: Path) -> None:
    tree(tmp_path, bad=BAD, empty__package="{}")
    done = check("empty", "bad.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot read empty: it is a folder without rank tables (*.json with ")
    assert "HK201" in done.stdout
    assert check("empty", cwd=tmp_path).stdout == ""


def test_a_file_that_cannot_be_read_is_not_counted_as_checked(tmp_path: Path) -> None:
    tree(tmp_path, tables__good=text())
    done = check("tables", "missing.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout.endswith("checked 1 file, none with errors\n")


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    tree(tmp_path, tables__good=text())
    (tmp_path / "tables" / "loop").symlink_to(tmp_path / "tables")
    assert check("tables", cwd=tmp_path).stdout.endswith("checked 1 file, none with errors\n")


def test_fix_fixes_all_tables_in_a_folder(tmp_path: Path) -> None:
    tree(tmp_path, tables__t=text().replace('"server_count": "1"', '"server_count": 1'))
    before = check("tables", cwd=tmp_path)
    done = check("tables", "--fix", cwd=tmp_path)
    assert (before.returncode, done.returncode) == (1, 0)
    assert (tmp_path / "tables" / "t.json").read_text() == text()


STRICT = 'ignore = ["HK201"]\nstrict = true\nproduct = "910"\n'


def test_the_nearest_settings_file_above_the_table_is_used(tmp_path: Path) -> None:
    tree(tmp_path, near__a__bad=BAD, far__bad=BAD)
    (tmp_path / "near" / ".hccl-kit.toml").write_text(STRICT)
    done = check("near/a/bad.json", "far/bad.json", "--format", "json", cwd=tmp_path)
    near, far = json.loads(done.stdout)["results"]
    assert {found["rule"] for found in near["findings"]} == set()
    assert near["product"] == "910"
    assert {found["rule"] for found in far["findings"]} == {"HK201"}


def test_reads_settings_from_pyproject_and_for_the_current_folder(tmp_path: Path) -> None:
    tree(tmp_path, elsewhere__bad=BAD, project__sub__bad=BAD)
    (tmp_path / "project" / "pyproject.toml").write_text('[tool.hccl-kit]\nignore = ["HK201"]\n')
    (tmp_path / "project" / "sub" / "pyproject.toml").write_text('[project]\nname = "hccl-kit-user"\n')
    cwd = tmp_path / "project"
    assert check("sub/bad.json", cwd=tmp_path / "project").returncode == 0
    assert check("-", cwd=cwd, stdin=BAD).returncode == 0
    assert check("../elsewhere/bad.json", cwd=cwd).returncode == 0
    assert check("elsewhere/bad.json", cwd=tmp_path).returncode == 1


def test_options_take_precedence_over_settings(tmp_path: Path) -> None:
    loopback = text().replace("10.0.0.1", "127.0.0.1")
    tree(tmp_path, bad=BAD, note=loopback, three=text(1, 3))
    (tmp_path / ".hccl-kit.toml").write_text('ignore = ["HK2"]\nproduct = "910"\nstrict = true')
    assert check("bad.json", cwd=tmp_path).returncode == 0
    assert check("bad.json", "--ignore", "HK3", cwd=tmp_path).returncode == 1
    assert check("three.json", cwd=tmp_path).returncode == 1
    assert check("three.json", "--product", "auto", cwd=tmp_path).returncode == 0
    warned = tree(tmp_path, draft=text().replace('"completed"', '"initializing"')) / "draft.json"
    assert [check(str(warned), *more, cwd=tmp_path).returncode for more in ((), ("--no-strict",))] == [1, 0]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("ignroe = []", "'ignroe' is not a setting; accepted: select, ignore, strict, product"),
        ("strict = 1", "strict is '1'; accepted: true or false"),
        ('product = "911"', "product is '911'; accepted: 910, a2, a2-box16, a3, a5, 300i-duo, auto"),
        ('ignore = "HK2"', """ignore is 'HK2'; accepted: a list of rules, such as ["HK2", "HK301"]"""),
        ('ignore = ["HK999"]', "ignore: no rule is named 'HK999'; accepted: "),
        ("strict = ", "is not valid TOML: "),
    ],
)
@pytest.mark.parametrize("place", [".hccl-kit.toml", "pyproject.toml"])
def test_an_invalid_setting_is_one_message(written: str, message: str, place: str, tmp_path: Path) -> None:
    tree(tmp_path, a=text(), b=text())
    head = "" if place.startswith(".") else "[tool.hccl-kit]\n"
    (tmp_path / place).write_text(head + written)
    done = check("a.json", "b.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path / place}")
    assert message in done.stderr
    assert done.stderr.count("error: ") == 1
