"""The text of the launch script: its content, its quoting, and that it is reproducible."""

import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.cli.command import IN_CHECKOUT
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RUN_ID
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import file_name, generate
from tests.launch.jobs import make_job, table
from tests.launch.ways import planned, servers
from tests.places import ROOT

SCRIPTS = ROOT / "scripts"
TUTORIAL = {i: f"192.168.{100 + i % 4}.{101 - i // 4}" for i in range(8)}
"""Device id -> address, as in the tables of MindSpore's tutorial."""

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
nasty = st.sampled_from(["", "a'; echo foo", '"$(id)"', "`id`", "-n", "--", "\n", "a\n# b", "*", "~", "\\", "训练"])


def script_of(*command: str, name: str = "t.json") -> str:
    (made,) = bash.emit(plan(table(), command), TableFile(name, formats.write(table())))
    return made.text


@pytest.mark.parametrize("ids", [range(8), range(4, 8)], ids=["8p", "4p"])
def test_the_example_scripts_are_current(ids: range, request: pytest.FixtureRequest) -> None:
    made = generate("127.0.0.1", [(i, TUTORIAL[i]) for i in ids])
    text = formats.write(made)
    files = {
        file_name(made): text,
        f"ascend{len(ids)}p.sh": bash.emit(plan(made, IN_CHECKOUT), TableFile(file_name(made), text))[0].text,
    }
    for name, content in files.items():
        if request.config.getoption("--update-golden"):
            (SCRIPTS / name).write_text(content, encoding="utf-8")
        assert (SCRIPTS / name).read_text(encoding="utf-8") == content, name


@settings(max_examples=15, deadline=None)
@given(st.lists(nasty | words, max_size=20), st.lists(nasty | words, max_size=5))
def test_every_argument_arrives_unchanged(baked: list[str], passed_on: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        job = make_job(Path(folder), ("printf", r"%s\0", "first", *baked), ranks=1)
        done = job.run("--", *passed_on)
        assert done.returncode == 0, done.stderr
        assert (job.logs / "rank_0.log").read_bytes().decode().split("\0") == ["first", *baked, *passed_on, ""]


def test_the_name_of_the_table_is_quoted_too(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",), ranks=1, table_name="a'; touch hacked; '$(touch hacked)\n训.json")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "hacked").exists()


def test_the_digest_is_that_of_the_table_text() -> None:
    digest = hashlib.sha256(formats.write(table()).encode()).hexdigest()
    assert f'== "{digest} "*' in script_of("true")


def test_cards_are_listed_in_the_order_of_ranks() -> None:
    text = script_of("true")
    assert "hk_node=0 hk_cards=(4 5 6 7) " in text
    assert "# Starts ranks 0 to 3 on cards 4, 5, 6, 7 of this server. " in text


def test_the_cards_of_several_servers_are_listed_by_their_ranks() -> None:
    (made,) = bash.emit(*planned(servers((4, 5), (0,), ids=("FE80:0::1", "esac"))))
    assert '*" "@(FE80:0::1|fe80::1)" "* ]] && hk_nodes+=(0) hk_cards=([0]=4 5)\n' in made.text
    assert '*" "@(esac)" "* ]] && hk_nodes+=(1) hk_cards=([2]=0)\n' in made.text


def test_variable_names_are_only_defined_in_the_contract() -> None:
    names = [name for names in NAMES.values() for name in names]
    scripts = (ROOT / "hccl_kit" / "launch" / "scripts").rglob("*.sh")
    shell = (path for path in scripts if path.parent.name not in ("mpirun", "slurm"))  # theirs are read there
    emitters = (Path(bash.__file__).with_name(f"{name}.py") for name in ("bash", "servers"))
    sources = "".join(path.read_text(encoding="utf-8") for path in [*shell, *emitters])
    # RANK is also the word for a rank in comments.
    for name in [*names, *MISLEADING, RUN_ID, LOG_DIR]:
        assert name in script_of("true")
        assert name == "RANK" or f"{name}=" not in sources
        assert f"${name}" not in sources
        assert f"${{{name}" not in sources
