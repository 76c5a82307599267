"""The text of the batch script for Slurm: its content, its errors, and that words arrive unchanged."""

import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import slurm
from hccl_kit.launch.files import LaunchFile
from hccl_kit.table.model import RankTable
from tests.launch.ways import assert_golden, assert_shellcheck, fake, nasty, planned, run, servers, words, write

PLANS = {
    "one_node": servers((4, 5, 6, 7)),
    "two_nodes": servers(range(8), range(8)),
    "unequal_nodes": servers((4, 5), (6, 7, 1), ids=("node[1]", "FD00::0:1")),
}
WISHES: dict[str, Any] = {"job_name": "crnn", "partition": "npu", "time": "12:00:00", "gres": "npu:8"}
HET = {"hetjob": True, "gres": "npu", "nodelist": "n[1-2]", "max_restarts": "3", "signal": "USR2@120"}
MPI = {"mpi": "pmix", "switches": "1@60", "array": "0-9%1"}
PYXIS: dict[str, Any] = {
    "container_image": "registry.example.org#train:1",
    "container_mounts": "/data:/data:ro,/home:/home",
}
APPTAINER: dict[str, Any] = {"apptainer_image": "images/train.sif"}
SITES: dict[str, tuple[RankTable, dict[str, Any]]] = {
    "hetjob": (servers((4, 5), (6, 7, 1)), HET),
    "mpi_in_apptainer": (servers((4, 5), (6, 7, 1)), {**MPI, **APPTAINER}),
    "mpi_in_pyxis": (servers((4, 5), (4, 5)), {**PYXIS, "mpi": "pmi2"}),
}
DIRECTIVES = {**WISHES, "nodelist": "n1", "switches": "1", "signal": "USR2@120", "array": "0-9"}
HERE = servers((4,), ids=("127.0.0.1",))
"""One rank on a server that matches any host."""
JOB = {"SLURM_JOB_ID": "25007", "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_NODELIST": "n1"}
SRUN = """
while [[ $1 == --* ]]; do printf "%s " "$1" && shift; done >>"$0.calls"
echo >>"$0.calls"
export SLURM_LOCALID=${LOCALID:-0} SLURM_PROCID=0 SLURMD_NODENAME=n1
eval "${BEFORE:-}"
"$@"
"""
"""A fake Slurm: srun starts only one of the tasks, and notes its options."""


def script(folder: Path, table: RankTable, *command: str) -> Path:
    plan, file = planned(table, *command)
    (folder / file.name).write_text(file.text, encoding="utf-8")
    fake(folder, "srun", SRUN)
    fake(folder, "squeue", "exit 1")
    return write(folder, slurm.emit(plan, file))


def emitted(**wishes: Any) -> tuple[LaunchFile, ...]:
    return slurm.emit(*planned(HERE), **wishes)


def start(made: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Start it with the fakes, and without hccl-kit."""
    return run(made, *arguments, environ={**JOB, "PATH": os.defpath, **environ})


def directives(text: str) -> list[str]:
    """The lines that sbatch reads: the comments before the first other line."""
    lines = text.splitlines()
    end = next(i for i, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    return [line for line in lines[:end] if line.startswith("#SBATCH")]


@pytest.mark.parametrize("name", PLANS)
def test_files_match_the_golden_files(name: str, request: pytest.FixtureRequest) -> None:
    wishes: dict[str, Any] = {} if name == "one_node" else WISHES
    files = slurm.emit(*planned(PLANS[name], "python", "train.py", "--lr", "0.1"), **wishes)
    assert_golden(f"slurm/{name}", files, request)


@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_reports_nothing(name: str, tmp_path: Path) -> None:
    plan, table = planned(PLANS[name], "python", "a'; echo foo", "a\nb", "训练")
    assert_shellcheck(write(tmp_path, slurm.emit(plan, table, **WISHES)))


@pytest.mark.parametrize("name", SITES)
def test_files_with_site_options_match_the_golden_files(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table, options = SITES[name]
    files = slurm.emit(*planned(table), **options)
    assert_golden(f"slurm/{name}", files, request)
    assert_shellcheck(write(tmp_path, files))


@settings(max_examples=15, deadline=None)
@given(st.lists(nasty | words, max_size=20), st.lists(nasty | words, max_size=5))
def test_every_argument_arrives_unchanged(baked: list[str], passed_on: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = script(Path(folder), HERE, "printf", r"%s\0", "first", *baked)
        done = start(made, *passed_on)
        assert done.returncode == 0, done.stdout
        log = Path(folder, "hccl_logs", "latest", "rank_0.log").read_bytes().decode()
        assert log.split("\0") == ["first", *baked, *passed_on, ""]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, max_size=3))
def test_untrusted_text_never_becomes_a_directive(texts: list[str]) -> None:
    texts = [f"{text}\n#SBATCH --nodes=9\n" for text in texts]
    plan, table = planned(servers((0,), (0,)), *texts)
    nodes = tuple(replace(node, id=f"{texts[0]}{number}") for number, node in enumerate(plan.nodes))
    (file,) = slurm.emit(replace(plan, nodes=nodes), table)
    assert directives(file.text) == [
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
    ]


def test_writes_the_options_of_sbatch() -> None:
    for option, value in DIRECTIVES.items():
        (file,) = emitted(**{option: value})
        shown = "B:USR2@120" if option == "signal" else value
        assert directives(file.text)[-1] == f"#SBATCH --{option.replace('_', '-')}={shown}"
    (file,) = emitted(nodelist="n[7]")
    assert directives(file.text)[-1] == "#SBATCH --nodelist=n7"


@pytest.mark.parametrize(
    ("given", "asked"),
    [("npu", "npu:2"), ("npu:910b", "npu:910b:2"), ("npu,tmp:2", "npu:2,tmp:2"), ("npu:1", "npu:1")],
)
def test_a_gres_name_without_a_number_requests_the_cards_of_the_table(given: str, asked: str) -> None:
    (file,) = slurm.emit(*planned(servers((4, 5), (4,))), gres=given)
    assert directives(file.text)[-1] == f"#SBATCH --gres={asked}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hetjob": True}, "--hetjob is for servers with different numbers of cards; here each has 2"),
        ({"container_mounts": "/a:/a"}, "--container-mounts needs an image"),
        ({**PYXIS, **APPTAINER}, "--container-image (pyxis) and --apptainer-image are mutually exclusive"),
        (
            {"max_restarts": "1", "signal": "TERM@60"},
            "--signal TERM@60 with --max-restarts: a job that you cancel gets this signal too, and would be queued "
            "again",
        ),
        (
            {"nodelist": "n[1-3]"},
            "--nodelist names 3 nodes, the table has 2 servers; accepted: a node for each server, in the order of "
            "the table",
        ),
    ],
)
def test_incompatible_options_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError) as error:
        slurm.emit(*planned(servers((4, 5), (4, 5))), **options)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"array": "0-3"}, "--hetjob and --array are mutually exclusive in Slurm"),
        ({"mpi": "pmix"}, "--hetjob and --mpi are mutually exclusive: Slurm orders ranks within a part only"),
        ({"gres": "npu:8"}, "--gres npu:8 with --hetjob would ask for one number of cards on all nodes"),
    ],
)
def test_options_that_a_heterogeneous_job_does_not_support_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError) as error:
        slurm.emit(*planned(servers((4, 5), (4,))), hetjob=True, **options)
    assert error.value.message == message
    assert error.value.hint


def srun_options(folder: Path) -> list[str]:
    return (folder / "bin" / "srun.calls").read_text().split()


def test_srun_gets_every_option_whose_default_a_site_may_change(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "true")
    assert start(made, SLURM_CPUS_PER_TASK="24").returncode == 0
    asked = ["--kill-on-bad-exit=1", "--wait=0", "--export=ALL", "--cpu-bind=none", "--nodes=1", "--ntasks=1"]
    assert srun_options(tmp_path) == [*asked, "--ntasks-per-node=1", "--mpi=none", "--cpus-per-task=24"]


def test_pyxis_mounts_the_files_that_ranks_need(tmp_path: Path) -> None:
    plan, file = planned(HERE, "true")
    home = tmp_path / "home"
    home.mkdir()
    (home / file.name).write_text(file.text, encoding="utf-8")
    fake(tmp_path, "srun", SRUN)
    fake(tmp_path, "squeue", "exit 1")
    made = write(tmp_path, slurm.emit(plan, file, **PYXIS))
    assert start(made, SLURM_SUBMIT_DIR=str(home)).returncode == 0
    mounts = "/usr/local/Ascend/driver:/usr/local/Ascend/driver:ro,/data:/data:ro,/home:/home"
    assert [word for word in srun_options(tmp_path) if "container" in word] == [
        "--container-image=registry.example.org#train:1",
        f"--container-workdir={tmp_path}",
        f"--container-mounts={mounts},{tmp_path}:{tmp_path},{home}:{home}",
    ]


@pytest.mark.parametrize("options", [PYXIS, APPTAINER], ids=["pyxis", "apptainer"])
def test_a_folder_that_a_mount_list_cannot_represent_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "a,b:c"
    folder.mkdir()
    plan, file = planned(HERE, "true")
    (folder / file.name).write_text(file.text, encoding="utf-8")
    fake(folder, "srun", SRUN)
    done = start(write(folder, slurm.emit(plan, file, **options)))
    assert done.returncode == 2
    assert f"error: {folder} and {folder} cannot be mounted into a container" in done.stderr.splitlines()


def test_the_port_is_derived_from_the_job_id_unless_it_is_set(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "bash", "-c", "echo port=$MASTER_PORT")
    assert "\nport=21007\n" in start(made).stdout
    assert "\nport=12345\n" in start(made, MASTER_PORT="12345").stdout


def test_a_rank_has_all_variables_of_the_contract(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "env")
    found = dict(line.split("=", 1) for line in start(made).stdout.splitlines()[1:] if "=" in line)
    assert {"RANK_ID": "0", "DEVICE_ID": "4", "RANK_SIZE": "1", "DEVICE_NUM": "1"}.items() <= found.items()
    assert {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}.items() <= found.items()
    assert found["RANK_TABLE_FILE"] == str(tmp_path / "table.json")
    assert found["HCCL_KIT_LOG_DIR"] == str(tmp_path / "hccl_logs" / "slurm-25007")
    assert (found["HCCL_KIT_RUN_ID"], found["MASTER_ADDR"]) == ("slurm-25007", "127.0.0.1")
    assert "HCCL_KIT_RESTART" not in found
    assert not [name for name in found if name.startswith(("hk_", "BASH_FUNC"))]
    assert "HCCL_KIT_RESTART=2\n" in start(made, SLURM_RESTART_COUNT="2").stdout


def test_a_node_that_matches_two_servers_is_ambiguous(tmp_path: Path) -> None:
    host = os.uname().nodename
    made = script(tmp_path, servers((6,), (4,), ids=(host, "127.0.0.1")), "true")
    done = start(made)
    first, error, table, fix = done.stdout.splitlines()
    assert (done.returncode, first) == (2, f"job 25007 on n1, port 21007, logs in {tmp_path}/hccl_logs/slurm-25007")
    assert error.startswith(f"error: this host matches 2 servers of the table; it has n1 {host} ")
    assert (table, fix) == (
        f"  the table has {host}, 127.0.0.1",
        "  fix: sbatch --nodelist=..., or HCCL_KIT_SERVER=ID for one node",
    )
    assert start(made, HCCL_KIT_SERVER="127.0.0.1").returncode == 0
    assert "error: this host matches 0 servers of the table; it has n7\n" in start(made, HCCL_KIT_SERVER="n7").stdout


def test_a_message_is_that_of_one_task_of_a_node(tmp_path: Path) -> None:
    done = start(script(tmp_path, servers((6, 7), ids=("n2",)), "true"), LOCALID="1")
    assert (done.returncode, done.stdout.count("\n")) == (2, 1)


def test_a_second_node_of_a_server_is_refused(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "true")
    done = start(made, BEFORE="echo of another >hccl_logs/slurm-25007/rank_0.log")
    assert done.returncode == 2
    assert f"error: {os.uname().nodename} is a second node of server 0\n" in done.stdout
    assert (tmp_path / "hccl_logs" / "slurm-25007" / "rank_0.log").read_text() == "of another\n"


def test_with_hccl_kit_it_starts_the_ranks(tmp_path: Path) -> None:
    plan, file = planned(HERE, "a b", framework="pytorch")
    fake(tmp_path, "hccl-kit", 'printf "%s|" "$@" "$HCCL_KIT_RESTART"')
    made = write(tmp_path, [*slurm.emit(plan, file, max_restarts="3"), LaunchFile(file.name, file.text)])
    done = start(made, "c", SLURM_RESTART_COUNT="2")
    words = ["--slurm", "--framework", "pytorch", "--max-restarts", "3", "--", "a b", "c", "2", ""]
    assert done.stdout == "|".join(["run", str(tmp_path / file.name), *words])


@pytest.mark.parametrize("options", [PYXIS, APPTAINER, {"mpi": "pmix"}, {"signal": "USR2@120"}])
def test_what_only_srun_does_is_left_to_srun(options: dict[str, Any]) -> None:
    assert "exec hccl-kit" not in emitted(**options)[0].text


def test_a_surplus_task_ends_at_once(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "touch", "started")
    assert start(made, LOCALID="1").returncode == 0
    assert not (tmp_path / "started").exists()


def test_the_table_is_found_from_slurms_path_of_the_script(tmp_path: Path) -> None:
    """Slurm runs a copy of the script in its own folder, and reports the original path followed by the arguments."""
    made = script(tmp_path, HERE, "true")
    home = tmp_path / "a home"
    home.mkdir()
    (tmp_path / "table.json").rename(home / "table.json")
    done = start(made)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        f"error: {tmp_path}/table.json is not the table of this script",
        "  fix: put it where the job is submitted, on a shared disk",
    ]
    assert start(made, SLURM_SUBMIT_DIR=str(home)).returncode == 0
    fake(tmp_path, "squeue", f"echo '{home}/{made.name} --epochs 3 a/b'")
    assert start(made, SLURM_SUBMIT_DIR="/").returncode == 0


def test_another_table_is_refused(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "touch", "started")
    with (tmp_path / "table.json").open("a") as file:
        file.write("\n")
    done = start(made)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path}/table.json is not the table of this script\n")
    assert not (tmp_path / "started").exists()


def test_a_table_that_a_node_does_not_see_is_named(tmp_path: Path) -> None:
    done = start(script(tmp_path, HERE, "touch", "started"), BEFORE="mv table.json gone")
    assert done.returncode == 2
    assert f"error: {os.uname().nodename} does not see {tmp_path}/table.json\n" in done.stdout
    assert not (tmp_path / "started").exists()


def test_a_log_folder_that_a_node_does_not_have_is_named(tmp_path: Path) -> None:
    done = start(script(tmp_path, HERE, "touch", "started"), BEFORE="mv hccl_logs/slurm-25007/task gone")
    assert done.returncode == 127
    assert f"{tmp_path}/hccl_logs/slurm-25007/task: No such file or directory\n" in done.stdout
    assert not (tmp_path / "started").exists()


def test_outside_of_slurm_the_message_names_the_start_command(tmp_path: Path) -> None:
    made = script(tmp_path, HERE, "true")
    done = run(made)
    assert (done.returncode, done.stderr) == (2, f"error: not started by Slurm\n  fix: sbatch {made}\n")


def test_files_of_an_earlier_start_are_ignored(tmp_path: Path) -> None:
    """In the shell of an allocation, a script may be started repeatedly with the same job id."""
    made = script(tmp_path, HERE, "bash", "-c", 'exit "$CODE"')
    assert start(made, CODE="7").returncode == 7
    assert start(made, CODE="0").returncode == 0
    assert start(made, CODE="3").returncode == 3


def test_a_folder_that_was_there_before_is_not_used(tmp_path: Path) -> None:
    """Its name is known: the number of the job. A link in it would be written to."""
    made = script(tmp_path, HERE, "echo", "here")
    planted = tmp_path / "hccl_logs" / "slurm-25007"
    planted.mkdir(parents=True)
    (tmp_path / "mine").write_text("precious")
    (planted / "rank_0.log").symlink_to(tmp_path / "mine")
    assert (start(made).returncode, (tmp_path / "mine").read_text()) == (0, "precious")
    (run,) = tmp_path.glob("hccl_logs/slurm-25007-*")
    assert sorted(path.name for path in run.iterdir()) == ["rank_0.log", "srun", "task", "task_0"]
