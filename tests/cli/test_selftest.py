"""The command line of hccl-kit selftest: errors, and outputs of hccl_test. No ranks are started here."""

import subprocess
import sys
from pathlib import Path

import pytest

import hccl_kit
from tests.program import kit
from tests.selftest.jobs import report, table

OUTPUT = """\
data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
1048576           | 100.00         | 10.48576             | success
33554432          | 1345.60        | {}              | success
"""


def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return kit("selftest", *map(str, arguments), cwd=Path.cwd(), variables=variables)


@pytest.fixture
def two_servers(tmp_path: Path) -> Path:
    tables = [hccl_kit.generate(f"10.0.0.{n}", [(0, f"192.168.100.{n}")]) for n in (1, 2)]
    path = tmp_path / "two.json"
    path.write_text(hccl_kit.to_text(hccl_kit.merge(tables)))
    return path


def test_reads_the_output_of_hccl_test(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(OUTPUT.format("24.94"))
    done = run(table(tmp_path, 8), "--hccl-test", f"all_reduce={tmp_path / 'run.log'}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "all_reduce   1 MiB    100.0      10.486      18.350" in done.stdout
    assert "ok: 0 pairs, 2 collectives" in done.stdout


def test_a_row_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(OUTPUT.format("48.59"))
    document = report(run(table(tmp_path, 8), "--hccl-test", f"all_reduce={tmp_path / 'run.log'}", "--format", "json"))
    (fault,) = document["faults"]
    assert fault["message"] == (
        "all_reduce of 33554432 bytes over all ranks: line 3: 33554432 bytes in 1345.6 us are 24.94 GB/s, "
        "but the row says 48.59 GB/s"
    )


def test_an_earlier_output_can_be_the_baseline(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(OUTPUT.format("24.94"))
    source = f"all_reduce={tmp_path / 'run.log'}"
    file = table(tmp_path, 8)
    (tmp_path / "good.json").write_text(run(file, "--hccl-test", source, "--format", "json").stdout)
    (tmp_path / "run.log").write_text(OUTPUT.replace("1345.60", "3363.86").format("9.975"))
    done = run(file, "--hccl-test", source, "--baseline", tmp_path / "good.json")
    assert done.returncode == 1
    assert "error: all_reduce of 33554432 bytes has 17.5 GB/s, 40% of the baseline" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slow", "1.5"], "--slow must be between 0 and 1, got 1.5"),
        (["--slow", "x"], "--slow must be between 0 and 1, got x"),
        (["--svg", "picture.png"], "--svg 'picture.png' does not end in .svg"),
        (["--hccl-test", "run.log"], "--hccl-test 'run.log' is not OPERATOR=FILE; operators: all_reduce, all_gather"),
        (["--hccl-test", "all_reduce=none.log"], "cannot read none.log: No such file or directory"),
        (["--baseline", "none.json"], "cannot read none.json: No such file or directory"),
        (["--backend", "ucc"], "invalid choice: 'ucc'"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run(table(tmp_path, 2), *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_existing_drawing_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("mine")
    done = run(table(tmp_path, 2), "--svg", tmp_path / "a.svg")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a.svg already exists" in done.stderr
    assert (tmp_path / "a.svg").read_text() == "mine"


def test_a_baseline_of_other_cards_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(OUTPUT.format("24.94"))
    done = run(table(tmp_path, 8), "--hccl-test", f"all_reduce={tmp_path / 'run.log'}", "--format", "json")
    (tmp_path / "good.json").write_text(done.stdout)
    for options in ([], ["--hccl-test", f"all_reduce={tmp_path / 'run.log'}"]):
        done = run(table(tmp_path, 2), "--baseline", tmp_path / "good.json", *options)
        assert done.returncode == 2
        assert "good.json" in done.stderr


def test_several_servers_need_ssh(two_servers: Path) -> None:
    done = run(two_servers)
    assert done.returncode == 2
    assert "the table has 2 servers" in done.stderr
    assert "--ssh or --slurm starts them on every server" in done.stderr
    for options, error in (
        (("--ssh", "--backend", "mpi"), "--backend mpi measures one server"),
        (("--slurm", "--ssh-option", "User=x"), "--ssh-option needs --ssh"),
        (("--python", "python3"), "--python needs --ssh or --slurm"),
        (("--ssh", "--python", "a b"), "--python a b; accepted: "),
    ):
        done = run(two_servers, *options)
        assert (done.returncode, error in done.stderr) == (2, True), done.stderr


def test_slurm_needs_an_allocation(two_servers: Path) -> None:
    done = run(two_servers, "--slurm", "--backend", "gloo", SLURM_JOB_NODELIST="")
    assert done.returncode == 2
    assert "--slurm works inside an allocation of Slurm" in done.stderr
    done = run(two_servers, "--slurm", "--backend", "gloo", SLURM_JOB_NODELIST="localhost")
    assert done.returncode == 2
    assert "error: node localhost does not answer; srun ended with exit code " in done.stderr


def test_an_address_that_ssh_would_parse_as_an_option_is_refused(two_servers: Path) -> None:
    two_servers.write_text(
        two_servers.read_text().replace('"server_id": "10.0.0.2"', '"server_id": "-oProxyCommand=x"')
    )
    done = run(two_servers, "--ssh", "--backend", "gloo")
    assert done.returncode == 2
    assert "-oProxyCommand=x" in done.stderr


def test_a_file_that_is_not_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{}")
    done = run(tmp_path / "t.json")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_the_agent_refuses_an_input_without_ranks() -> None:
    agent = [sys.executable, "-I", "-m", "hccl_kit.selftest.agent"]
    for stdin in (b"", b"hello\n"):
        done = subprocess.run(agent, input=stdin, check=False, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr == b"error: the agent of hccl-kit selftest reads its ranks from standard input\n"


def test_several_hccl_test_options_are_refused(tmp_path: Path) -> None:
    given = ["--hccl-test", f"all_reduce={tmp_path / 'run.log'}"]
    done = run(table(tmp_path, 8), *given, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --hccl-test can be given only once\n")
