"""hccl-kit launch as a user runs it: the files of each launcher, errors, and a job that really starts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.cli.launch import main
from hccl_kit.launch.emitters import LAUNCHERS
from hccl_kit.table import formats
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.operations.generate import generate_cluster
from tests.launch.jobs import clean_environ
from tests.launch.nodes import table_of
from tests.places import ROOT

TABLE = "hccl_2s_4p.json"
COMMANDS = {"vllm": ("vllm", "serve", "train.py", "--port", "8001"), "msrun": ("python", "-u", "train.py")}
"""Commands of launchers that do not accept any command."""
NEEDED = {
    name: ("--image", "registry/train:1", *(("--product", "a2") if row.needs_product else ()))
    for name, row in LAUNCHERS.items()
    if row.runs_pods
} | {"vllm": ("-o", ".")}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of two servers with two cards each, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / TABLE
    text = formats.write(table_of(("10.0.0.1", "10.0.0.2")))
    path.write_text(text.replace("192.0.2.", "192.168.0."), encoding="utf-8")
    return path


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_launcher_writes_its_files_and_prints_the_next_step(
    table: Path, launcher: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [TABLE, "--to", launcher, *NEEDED.get(launcher, ())]
    arguments += ["--", *COMMANDS.get(launcher, ("python", "-u", "train.py"))]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    written = [line.removeprefix("wrote: ") for line in printed.out.splitlines() if line.startswith("wrote: ")]
    assert files(table.parent) == sorted([TABLE, *written])
    assert "\nnext: " in printed.out
    assert written[0] in printed.out.splitlines()[-1]
    first = (table.parent / written[0]).read_text(encoding="utf-8")
    assert "train.py" in first
    assert main(arguments) == 0
    assert f"unchanged: {written[0]}" in capsys.readouterr().out


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_dry_run_writes_nothing(table: Path, launcher: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS.get(launcher, ("true",))
    assert main([TABLE, "--to", launcher, *NEEDED.get(launcher, ()), "--dry-run", "--", *command]) == 0
    assert files(table.parent) == [TABLE]
    assert "would write: " in capsys.readouterr().out


def test_a_plan_is_printed_and_not_written_without_a_folder(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([TABLE, "--to", "vllm", "--", "vllm", "serve", "m"]) == 0
    assert files(table.parent) == [TABLE]
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "2 data parallel ranks of 2 cards each on 2 servers; the API is on 10.0.0.1, port 8000"
    assert last == "next: -o DIR writes this plan and vllm4p.sh, which starts it"


def test_a_vllm_plan_without_a_vllm_command_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([TABLE, "--to", "vllm", "--", "true"]) == 2
    assert "; accepted: vllm serve MODEL [OPTION ...]\n" in capsys.readouterr().err


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_simulated_table_is_launched_with_a_warning_where_its_addresses_are_used(
    table: Path, launcher: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [TABLE, "--to", launcher, "--dry-run", *NEEDED.get(launcher, ())]
    arguments += ["--", *COMMANDS.get(launcher, ("true",))]
    table.write_text(table.read_text(encoding="utf-8").replace("192.168.0.", "192.0.2."), encoding="utf-8")
    assert main(arguments) == 0
    warning = 'warning: HK322: address "192.0.2.1" is in 192.0.2.0/24 (RFC 5737)'
    assert (warning in capsys.readouterr().err) != LAUNCHERS[launcher].runs_pods  # the cluster selects their cards
    if launcher == "volcano":
        assert main([*arguments[:3], "--fixed-table", *arguments[3:]]) == 0
        assert warning in capsys.readouterr().err
    if launcher == "bash":
        alone = RankTable("1.0", "completed", (Server("127.0.0.1", (Device(0, "192.0.2.1", 0),)),))
        table.write_text(formats.write(alone), encoding="utf-8")
        assert main(arguments) == 0
        assert capsys.readouterr().err == ""


def test_an_option_satisfies_the_rule_that_requires_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "tests/launch/rules/golden/HK521/bad.json"
    arguments = [str(path), "--to", "slurm", "-o", str(tmp_path), "--dry-run"]
    assert main([*arguments, "--", "true"]) == 0
    assert "warning: HK521: " in capsys.readouterr().err
    assert main([*arguments, "--hetjob", "--", "true"]) == 0
    assert "HK521" not in capsys.readouterr().err


@pytest.fixture
def no_ring(table: Path) -> str:
    """A table whose four cards are linked on A2, but not on 910."""
    devices = tuple(Device(card, f"192.168.0.{card + 1}", rank) for rank, card in enumerate((0, 1, 2, 4)))
    made = RankTable(version="1.0", status="completed", servers=(Server("10.0.0.1", devices),))
    (table.parent / "no_ring.json").write_text(formats.write(made), encoding="utf-8")
    return "no_ring.json"


def test_cards_that_the_default_product_cannot_link_are_reported(
    no_ring: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([no_ring, "--to", "bash", "--framework", "mindspore", "--dry-run", "--", "true"]) == 0
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: HK403: ")
    assert warning.endswith("; this is for 910, --product NAME chooses another")


def test_the_table_is_checked_for_the_given_product(no_ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([no_ring, "--to", "bash", "--product", "910", "--dry-run", "--", "true"]) == 2
    assert "HK403: " in capsys.readouterr().err
    assert (
        main([no_ring, "--to", "bash", "--product", "a2", "--framework", "mindspore", "--dry-run", "--", "true"]) == 0
    )
    assert capsys.readouterr().err == ""
    assert main([no_ring, "--to", "bash", "--product", "a9", "--dry-run", "--", "true"]) == 2
    assert "unknown product 'a9'; accepted: 910, a2, " in capsys.readouterr().err


def test_the_table_is_copied_to_the_output_folder(table: Path) -> None:
    (table.parent / "out").mkdir()
    assert main([TABLE, "--to", "bash", "-o", "out", "--", "true"]) == 0
    assert files(table.parent / "out") == ["ascend4p.sh", TABLE]
    assert (table.parent / "out" / TABLE).read_bytes() == table.read_bytes()


def test_a_script_of_another_command_is_not_overwritten(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([TABLE, "--to", "mpirun", "--", "true"]) == 0
    assert main([TABLE, "--to", "mpirun", "--", "false"]) == 2
    assert "mpirun4p.sh exists with other content" in capsys.readouterr().err
    assert main([TABLE, "--to", "mpirun", "--force", "--", "false"]) == 0


def test_a_script_of_bash_that_nobody_has_edited_is_replaced(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("true", "false"):
        assert main([TABLE, "--to", "bash", "--", command]) == 0
    script = table.parent / "ascend4p.sh"
    script.write_text(script.read_text().replace("hk_command=(false", "hk_command=(edited"))
    assert main([TABLE, "--to", "bash", "--", "true"]) == 2
    assert "ascend4p.sh exists with other content" in capsys.readouterr().err


def test_without_a_command_nothing_is_written_but_in_a_folder_with_the_trainer(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([TABLE, "--to", "slurm"]) == 2
    assert capsys.readouterr().err == (
        "error: no command follows --, and the current folder has no tools/train.py\n"
        "  fix: name what each rank runs, such as: -- python -u train.py\n"
    )
    assert files(table.parent) == [TABLE]
    for file in ("tools/train.py", "configs/rec/crnn/crnn_small.yaml"):
        (table.parent / file).parent.mkdir(parents=True)
        (table.parent / file).touch()
    assert main([TABLE, "--to", "slurm"]) == 0
    assert "python -u tools/train.py --config configs/rec/crnn" in (table.parent / "slurm4p.sbatch").read_text()


def test_the_framework_that_a_program_imports_is_taken_where_the_launcher_starts_it(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (table.parent / "train.py").write_text("import torch")
    assert main([TABLE, "--to", "bash", "--", "python", "train.py"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "framework: pytorch, since train.py imports torch; --framework names another\n"
    assert f"next: hccl-kit run {TABLE} --ssh --framework pytorch -- python train.py\n" in printed.out
    assert main([TABLE, "--to", "msrun", "--", "python", "train.py"]) == 0
    warned = capsys.readouterr().err
    assert warned == "warning: train.py imports torch, and this launcher does not start programs of pytorch\n"


def test_a_name_that_is_no_launcher_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(table), "--to", "x\x1b[31m", "--", "true"]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert message.endswith("is not a launcher; accepted: " + ", ".join(LAUNCHERS))
    assert message.isprintable()


def test_an_option_of_another_launcher_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([TABLE, "--to", "bash", "--gres", "npu:8"]) == 2
    assert capsys.readouterr().err == "error: --gres is for --to slurm, not for --to bash\n"


def test_a_table_that_breaks_a_rule_starts_nothing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = json.loads(table.read_text())
    value["server_list"][1]["device"][0]["rank_id"] = "0"
    table.write_text(json.dumps(value))
    assert main([TABLE, "--to", "bash"]) == 2
    assert "HK201" in capsys.readouterr().err
    assert files(table.parent) == [TABLE]


def test_a_plan_that_the_launcher_cannot_start_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = json.loads(table.read_text())
    value["server_list"][1]["device"][0]["device_id"] = "5"
    table.write_text(json.dumps(value))
    assert main([TABLE, "--to", "mpirun", "--", "true"]) == 2
    assert capsys.readouterr().err.startswith("error: HK50")
    assert files(table.parent) == [TABLE]


@pytest.mark.parametrize("fixed", [[], ["--fixed-table", "--host-network"]])
@pytest.mark.parametrize("launcher", [row.name for row in LAUNCHERS.values() if row.runs_pods])
def test_a_table_with_a_byte_order_mark_starts_pods(tmp_path: Path, launcher: str, fixed: list[str]) -> None:
    table = tmp_path / "t.json"
    table.write_text(formats.write(table_of(("10.0.0.1", "10.0.0.2"))), encoding="utf-8-sig")
    known = {option.name for option in LAUNCHERS[launcher].options}
    given = [option for option in fixed if option[2:].replace("-", "_") in known]
    assert main([str(table), "--to", launcher, *NEEDED[launcher], *given, "--", "true"]) == 0
    (manifest,) = tmp_path.glob("*.yaml")
    assert "\ufeff" not in manifest.read_text(encoding="utf-8")


@pytest.mark.parametrize("launcher", ["ascendjob", "volcano"])
def test_the_cards_of_pods_come_from_the_product_which_is_never_guessed(
    table: Path, launcher: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ["--to", launcher, "--image", "registry/train:1"]
    assert main([TABLE, *job, "--", "true"]) == 2
    assert capsys.readouterr().err == (
        "error: the product is missing: it decides which cards the pods ask for, and on which nodes they run\n"
        "  fix: --product NAME; accepted: 910, a2, a2-box16, a3, 300i-duo\n"
    )
    assert files(table.parent) == [TABLE]
    assert main([TABLE, *job, "--product", "a2", "--", "true"]) == 0
    cards = "pods ask for huawei.com/Ascend910, on nodes with accelerator-type=module"
    assert capsys.readouterr().out.splitlines()[0] == f"product: a2 (--product); {cards}-910b-8"
    (manifest,) = table.parent.glob("*.yaml")
    assert "accelerator-type: module-910b-8\n" in manifest.read_text()


def test_a_version_that_only_one_product_reads_names_the_product(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = [Host(f"10.0.0.{i}", {0: Card(f"192.0.2.{i}", sdid=i)}, super_pod="0") for i in (1, 2)]
    path = tmp_path / "t.json"
    path.write_text(formats.write(generate_cluster(hosts, version="1.2")))
    assert main([str(path), "--to", "volcano", "--image", "r/t:1", "--dry-run", "--", "true"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("product: a3 (only a3 has rank tables of version 1.2); pods ask for huawei.com/Ascend910")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "resource: huawei.com/Ascend910 (default; --resource NAME for other cards)"),
        (["--resource", "example.com/npu"], "resource: example.com/npu (--resource)"),
        (["--product", "300i-duo"], "resource: huawei.com/Ascend310P (product 300i-duo: --product)"),
    ],
)
def test_the_resource_of_pods_is_printed(
    table: Path, options: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([TABLE, "--to", "jobset", "--image", "r/t:1", *options, "--", "true"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == line
    (manifest,) = table.parent.glob("*.yaml")
    assert f"{line.split()[1]}: 2\n" in manifest.read_text()


def test_a_table_whose_name_does_not_end_in_json_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = table.parent / "with space"
    folder.mkdir()
    table.rename(folder / "table.txt")
    assert main(["with space/table.txt", "--to", "bash"]) == 2
    message = capsys.readouterr().err
    assert "HCCL only reads rank tables whose name ends in .json, got 'table.txt'" in message
    assert "mv -- 'with space/table.txt' 'with space/table.json'" in message


def test_a_table_from_standard_input_is_written_to_the_folder(tmp_path: Path) -> None:
    text = formats.write(table_of(("127.0.0.1",)))
    command = [sys.executable, "-m", "hccl_kit.cli.kit", "launch", "-", "--to", "bash", "--", "printenv", "RANK_ID"]
    environ = clean_environ({"PYTHONPATH": str(ROOT)})
    done = subprocess.run(command, input=text, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert files(tmp_path) == ["ascend2p.sh", "hccl_2p_01_127.0.0.1.json"]
    assert done.stdout.splitlines()[-2] == "next: bash ascend2p.sh"
    subprocess.run(["bash", "ascend2p.sh"], cwd=tmp_path, env=environ, capture_output=True, check=True)
    assert [(tmp_path / f"hccl_logs/latest/rank_{rank}.log").read_text() for rank in (0, 1)] == ["0\n", "1\n"]


@pytest.mark.parametrize(
    ("launcher", "step"),
    [
        ("bash", "next: hccl-kit run {0}hccl_2s_4p.json' --ssh -- COMMAND\n"
         "  or: copy {0}hccl_2s_4p.json' and {0}ascend4p.sh' to one path on every server, then there: "
         "bash {0}ascend4p.sh' COMMAND"),
        ("mpirun", "next: bash {0}mpirun4p.sh'"),
        ("msrun", "next: copy {0}msrun4p.sh' to every server, then there: bash {0}msrun4p.sh'"),
        ("slurm", "next: sbatch {0}slurm4p.sbatch'"),
    ],
)  # fmt: skip
def test_the_next_step_for_several_servers(
    table: Path, launcher: str, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = table.parent / "two words"
    command = () if launcher == "bash" else ("--", "python", "train.py")
    assert main([TABLE, "--to", launcher, "-o", str(folder), *command]) == 0  # creates the folder
    assert capsys.readouterr().out.endswith(f"\n{step}\n".format(f"'{folder}/"))


@pytest.mark.parametrize("launcher", ["bash", "msrun"])
def test_the_next_step_for_one_server_names_no_other_servers(
    tmp_path: Path, launcher: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.json").write_text(formats.write(table_of(("127.0.0.1",))), encoding="utf-8")
    assert main(["table.json", "--to", launcher, "--", "python"]) == 0
    step = "next: bash ascend2p.sh" if launcher == "bash" else "next: bash msrun2p.sh"
    assert step in capsys.readouterr().out.splitlines()


def test_a_secret_of_an_earlier_version_is_named_and_left_alone(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = table.parent / "ascend4p.sh.secret"
    secret.write_text("x")
    assert main([TABLE, "--to", "bash", "--", "true"]) == 0
    assert f"\nnote: {secret.name} is not used any more; remove it\nnext: " in capsys.readouterr().out
    assert secret.read_text() == "x"


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_job_numbers_give_different_ports(table: Path, launcher: str) -> None:
    arguments = [TABLE, "--to", launcher, *NEEDED.get(launcher, ()), "--force", "--jobs-per-host", "2"]
    texts = []
    for number in ("0", "1"):
        assert main([*arguments, "--job", number, "--", *COMMANDS.get(launcher, ("true",))]) == 0
        texts.append("".join(path.read_text() for path in sorted(table.parent.iterdir())))
    assert ["65408" in text for text in texts] == [True, False]
    assert ["65280" in text for text in texts] == [False, True]


def test_an_invalid_job_number_writes_nothing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([TABLE, "--to", "bash", "--job", "2", "--jobs-per-host", "2", "--", "true"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: job 2 of 2 on a host; accepted: 0 to 1",
        "  fix: --jobs-per-host 3, the same for every job",
    ]
    assert files(table.parent) == [TABLE]


def test_an_option_of_the_command_gets_a_hint_to_the_two_dashes(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as a command pasted from a tutorial."""
    with pytest.raises(SystemExit, match="2"):
        main([TABLE, "--to", "msrun", "--worker_num=8", "net.py"])
    assert "the command and its options follow --" in capsys.readouterr().err
    assert files(table.parent) == [TABLE]
