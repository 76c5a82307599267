"""hccl-gen as a user runs it, with fake programs on PATH."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from hccl_kit.base.extra import install_extra
from hccl_kit.cli.command import IN_CHECKOUT
from hccl_kit.cli.gen import main
from hccl_kit.discovery import hccn_conf, hccn_tool
from hccl_kit.table.products import PRODUCT_NAMES
from tests.places import ROOT
from tests.program import kit

FAKES = ROOT / "tests" / "fakes" / "bin"
TUTORIAL = Path(__file__).parent / "tutorial"
NOTHING: Mapping[str, str] = {}
DETECTED = {"HCCL_IF_IP": "127.0.0.1"}
"""Settings with which detection works on any machine."""


class Desk:
    """An empty folder to work in, and the eight cards of the tutorial behind a fake hccn_tool."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.cards = folder / "cards"
        self.modules = folder / "modules"
        (self.modules / "mindspore").mkdir(parents=True)  # found by its spec, never imported
        (self.modules / "mindspore" / "__init__.py").write_text("raise ImportError")
        (self.modules / "hccl-kit").touch(0o755)
        self.work.mkdir()
        self.cards.mkdir()
        for i in range(8):
            self.set_address(i, f"192.168.{100 + i % 4}.{101 if i < 4 else 100}")

    def set_address(self, card: int, address: str) -> None:
        (self.cards / f"ipv4.{card}").write_text(f"ipaddr:{address}\nnetmask:255.255.255.0\n")

    def environ(self, variables: Mapping[str, str] = NOTHING, *, tool: bool = True) -> dict[str, str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("HCCL_", "ASCEND_"))}
        environ |= {"FAKE_HCCN": str(self.cards), **variables}
        if "PATH" not in variables:
            environ["PATH"] = os.pathsep.join([*([str(FAKES)] if tool else []), str(self.modules), environ["PATH"]])
        return environ

    def gen(
        self, *arguments: str, tool: bool = True, variables: Mapping[str, str] = NOTHING
    ) -> subprocess.CompletedProcess[str]:
        with patch("sys.path", [str(self.modules), *sys.path]):
            return kit("gen", *arguments, cwd=self.work, environ=self.environ(variables, tool=tool))

    def written(self) -> list[str]:
        return sorted(path.name for path in self.work.iterdir())

    def asked(self) -> bool:
        return (self.cards / "log").exists()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


MINDSPORE = ("--framework", "mindspore")
"""Without it, there is a note on the cards that programs of torch would take."""


def refused(done: subprocess.CompletedProcess[str], desk: Desk) -> str:
    """The error of a run, which must not have written any file."""
    assert (done.returncode, desk.written()) == (2, [])
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(("cards", "ids"), [("[0,8)", "01234567"), ("[4,8)", "4567")])
def test_reproduces_the_tables_of_the_tutorial_byte_for_byte(desk: Desk, cards: str, ids: str) -> None:
    done = desk.gen("--device_num", cards, "--server_ip", "127.0.0.1", *MINDSPORE)
    table, script = f"hccl_{len(ids)}p_{ids}_127.0.0.1.json", f"ascend{len(ids)}p.sh"
    assert (done.returncode, done.stderr) == (0, "")
    assert desk.written() == [script, table]
    assert (desk.work / table).read_bytes() == (TUTORIAL / table).read_bytes()
    assert (desk.work / table).read_text() == json.dumps(json.loads((desk.work / table).read_text()), indent=4)
    assert done.stdout.splitlines() == [
        "product: Atlas 800-9000/9010 (910A), the default (--product names another)",
        "server id: 127.0.0.1, from --server_ip",
        f"addresses: {FAKES / 'hccn_tool'}",
        f"wrote: {table}",
        f"wrote: {script}",
        f"next: bash {script} COMMAND",
        f"  or: hccl-kit run {table} --framework mindspore -- COMMAND",
    ]


def make_checkout(folder: Path) -> None:
    for file in (IN_CHECKOUT[2], IN_CHECKOUT[-1]):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).touch()


def test_the_default_command_in_a_checkout_is_that_of_the_tutorial(desk: Desk) -> None:
    make_checkout(desk.work)
    done = desk.gen("--device_num", "[4,8)", "--server_ip", "127.0.0.1")
    command = "python -u tools/train.py --config configs/rec/crnn/crnn_small.yaml"
    assert f'\nhk_command=({command} "$@")\n' in (desk.work / "ascend4p.sh").read_text()
    next_line, other = done.stdout.splitlines()[-2:]
    assert next_line == "next: bash ascend4p.sh"
    assert other == f"  or: hccl-kit run hccl_4p_4567_127.0.0.1.json -- {command}"


def test_a_default_command_that_cannot_train_here_is_a_warning(desk: Desk) -> None:
    """The table is still written: it may be for another machine."""
    make_checkout(desk.work)
    with patch.dict(sys.modules, {"mindspore": None}):
        done = desk.gen("--device_num", "[4,8)", "--server_ip", "127.0.0.1")
    assert done.returncode == 0
    start = f"warning: the default command, {' '.join(IN_CHECKOUT)}, cannot run: "
    assert done.stderr.startswith(f"{start}MindSpore is not installed here; {install_extra('train')}, or name")
    done = desk.gen("--device_num", "[0,4)", "--simulate", "--force", variables={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0
    assert done.stderr.startswith(f"{start}python is not on PATH; activate the environment that it is in, or name")
    done = desk.gen("--device_num", "[0,4)", "--server_ip", "127.0.0.1", "--force", "--", "true")
    assert (done.returncode, done.stderr) == (0, "")


def test_script_runs_the_command_after_two_dashes(desk: Desk) -> None:
    desk.gen("--device_num", "[4,8)", "--server_ip", "10.0.0.1")
    script = desk.work / "ascend4p.sh"
    assert '\nhk_command=("$@")\n' in script.read_text()
    assert os.access(script, os.X_OK)
    where = ("--device_num", "[4,8)", "--server_ip", "10.0.0.1", *MINDSPORE)
    words = (*where, "--", "python", "my train.py", "--lr", "1")
    assert "replaced: ascend4p.sh\n" in desk.gen(*words).stdout  # nobody has edited it
    assert "\nhk_command=(python 'my train.py' --lr 1 \"$@\")\n" in script.read_text()
    script.write_text(script.read_text().replace("--lr 1", "--lr 2"))
    again = desk.gen(*words)
    assert again.stderr.startswith("error: ascend4p.sh exists with other content\n  fix: --force")
    assert "--lr 2" in script.read_text()
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_options_accept_dashes_and_another_output_folder(desk: Desk) -> None:
    out = desk.work / "o ut"
    out.mkdir()
    done = desk.gen(
        "--device-num", "0,1,2,3", "--visible-devices", "4-7", "--server-ip", "node7", "-o", "o ut", *MINDSPORE
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["ascend4p.sh", "hccl_4p_4567_node7.json"]
    assert "next: bash 'o ut/ascend4p.sh' COMMAND" in done.stdout


def test_logical_ids_become_physical_ones_and_are_shown(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,4)", "--visible_devices", "4,5,6,7", "--server_ip", "127.0.0.1")
    assert done.stdout.splitlines()[:4] == [f"logical {i} -> physical {i + 4}" for i in range(4)]
    name = "hccl_4p_4567_127.0.0.1.json"
    assert (desk.work / name).read_bytes() == (TUTORIAL / name).read_bytes()


def test_visible_devices_of_the_environment_are_reported(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,4)", "--server_ip", "a", variables={"ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7"})
    assert done.returncode == 0
    assert done.stderr.startswith("note: --device_num is read as physical ids; ASCEND_RT_VISIBLE_DEVICES=4,5,6,7")
    assert "hccl_4p_0123_a.json" in desk.written()


def test_nine_cards_are_refused_with_a_suggestion_of_eight(desk: Desk) -> None:
    text = refused(desk.gen("--device_num", "[0,8]", "--server_ip", "a"), desk)
    lines = text.splitlines()
    assert lines[0].startswith("error: HK")
    assert lines[1:3] == ["    [0,8]", "        ^"]
    assert '  fix: did you mean "[0,8)"?' in lines
    assert not desk.asked()


@pytest.mark.parametrize(
    ("arguments", "marked", "nearest"),
    [
        (("--device_num", "[2,6)"), "^^^^^", '--device_num "[0,4)"'),
        (("--device_num", " 0-2"), " ^^^", '--device_num "[0,4)"'),
        (("--device_num", "[0,2)", "--visible_devices", "3,4"), "^^^^^", "physical"),
    ],
)
def test_unlinked_cards_are_refused_with_the_nearest_valid_set(
    desk: Desk, arguments: tuple[str, ...], marked: str, nearest: str
) -> None:
    text = refused(desk.gen(*arguments, "--server_ip", "a"), desk)
    assert text.startswith("error: HK4")
    assert f"    {marked}\n" in text
    assert nearest in text
    assert not desk.asked()


def test_rules_are_those_of_the_product(desk: Desk) -> None:
    done = desk.gen("--device_num", "[2,5)", "--server_ip", "a", "--product", "a2")
    assert (done.returncode, desk.written()) == (0, ["ascend3p.sh", "hccl_3p_234_a.json"])


def test_invalid_usage_is_one_error(desk: Desk) -> None:
    for arguments, message in (
        (("--device_num", "4:8"), "expected ',' or '-', found ':'"),
        (("--device_num", ""), "--device_num: the device range is empty"),
        (("--device_num", "0", "--visible_devices", ""), "--visible_devices: the device range is empty"),
        (("--device_num", "0", "--visible_devices", "5,4"), "--visible_devices: the visible devices '5,4' are not"),
        (("--device_num", "[0,999999999999)"), "larger than 1023"),
        ((), "required: --device_num"),
        (("--device_num", "[0,8)", "--frobnicate"), "unrecognized arguments: --frobnicate"),
        (("--device", "[0,8)"), "--device_num"),
        (("--device_num", "[0,8)", "--"), "no command follows --"),
        (("--device_num", "[0,8)", "--product", "920"), "unknown product '920'; accepted: 910, a2"),
        (("--device_num", "[0,8)", "--product", "a5"), "Atlas 950 (A5) reads rank tables of version 2.0"),
        (("--device_num", "[0,8)", "--server_ip", "a/b"), "--server_ip: 'a/b' is not an address or a host name"),
        *(
            (("--device_num", "[0,8)", "--server_ip", name), "name; accepted: 10.0.0.1, fd00::1, node1, without port")
            for name in ("10.0.0.1:22", "[fd00::1]", "root@node1", "node1:22", "10.0.0.1/24")
        ),
        (("--device_num", "[0,8)", "--server_ip", ""), "'' is not an address or a host name"),
        (("--device_num", "[0,8)", "--visible_devices", "4-7"), "logical devices 4, 5, 6, 7; they are 4 cards"),
        (("--device_num", "[0,8)", "--simulate", "--hccn-conf", "x"), "not allowed with argument"),
        (("--device_num", "[0,8)", "--inventory", "x", "--hccn-conf", "x"), "not allowed with argument"),
        (("--device_num", "[0,8)", "--hccn-conf", "none.conf"), "cannot read none.conf: No such file"),
        (("--device_num", "[0,8)", "--inventory", "none.yaml"), "cannot read none.yaml: No such file"),
        (("--device_num", "[0,8)", "-o", "/dev/null/new"), "-o: cannot write into /dev/null: Not a directory"),
        (("--device_num", "[0,8)", "-o", "n" * 300), "File name too long"),
        (("--device_num", "[0,8)", "-o", ""), "argument -o/--output: '' is not a path"),
        (("--device_num", "[0,8)", "--inventory="), "argument --inventory: '' is not a path"),
        (("--device_num", "8"), 'did you mean "[0,8)"?'),
        (("--device_num", "[0,8)", "--product", "910B"), "did you mean a2?"),
        (("--device_num", "[0,8)", "--server_ip", "300.1.1.1"), "--server_ip: '300.1.1.1' is not a valid IPv4 address"),
        (("--device-nun", "[0,8)"), "unrecognized arguments: --device-nun; did you mean --device_num?"),
        (("--device_num", "[0,8)", "python", "x.py"), "a command follows --, as in: hccl-gen ... -- python x.py"),
        (("--device_num=--",), "argument --device_num: '--' is not a value"),
    ):
        named = () if "--server_ip" in arguments else ("--server_ip", "a")
        at = arguments.index("--") if "--" in arguments else len(arguments)
        assert message in refused(desk.gen(*arguments[:at], *named, *arguments[at:]), desk), arguments


def test_a_missing_folder_is_created(desk: Desk) -> None:
    arguments = ("--device_num", "[0,8)", "--server_ip", "a", "-o", "new/deep", "--", "true")
    assert desk.gen("--dry-run", *arguments).returncode == 0
    assert not (desk.work / "new").exists()
    done = desk.gen(*arguments)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (desk.work / "new/deep").iterdir()) == [
        "ascend8p.sh",
        "hccl_8p_01234567_a.json",
    ]


def test_folder_whose_path_hccl_cannot_read_is_refused(desk: Desk) -> None:
    (desk.work / "t.json.d").mkdir()
    done = desk.gen("--device_num", "[0,8)", "--server_ip", "a", "-o", "t.json.d")
    assert (done.returncode, list((desk.work / "t.json.d").iterdir())) == (2, [])
    assert "contains .json, which HCCL takes for the end" in done.stderr


@pytest.mark.usefixtures("no_privileges")
def test_folder_without_search_permission_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "closed" / "inside"
    assert main(["--device_num", "0", "--simulate", "-o", str(folder), "--", "true"]) == 2
    assert capsys.readouterr().err == f"error: -o: cannot write into {folder}: Permission denied\n"


def test_all_cards_without_an_address_are_one_error(desk: Desk) -> None:
    (desk.cards / "ipv4.5").unlink()
    (desk.cards / "ipv4.7").unlink()
    text = refused(desk.gen("--device_num", "[4,8)", "--server_ip", "a"), desk)
    assert "gave no address for 2 of 4 cards:" in text
    assert "    card 5: Get ipconf failed, because no ip was preset there!\n    card 7: Get ipconf" in text


def test_addresses_that_break_a_rule_are_refused(desk: Desk) -> None:
    desk.set_address(5, "192.168.100.100")
    text = refused(desk.gen("--device_num", "[4,8)", "--server_ip", "a"), desk)
    assert text.startswith("error: HK3")
    assert "192.168.100.100" in text


def test_hccn_conf_takes_precedence_over_hccn_tool(desk: Desk, tmp_path: Path) -> None:
    conf = tmp_path / "hccn.conf"
    conf.write_text("".join(f"address_{i}=10.1.{i}.1\nnetmask_{i}=255.255.0.0\n" for i in range(8)))
    done = desk.gen("--device_num", "[0,4)", "--server_ip", "a", "--hccn-conf", str(conf))
    assert f"addresses: {conf}" in done.stdout
    assert '"device_ip": "10.1.3.1"' in (desk.work / "hccl_4p_0123_a.json").read_text()
    assert not desk.asked()


def test_inventory_provides_the_requested_server(desk: Desk, tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yaml"
    servers = {"127.0.0.1": 1, "10.0.0.2": 2}
    inventory.write_text(
        "".join(f"{name}: {{{', '.join(f'{i}: 10.{n}.{i}.1' for i in range(4))}}}\n" for name, n in servers.items())
    )
    done = desk.gen("--device_num", "[0,4)", "--server_ip", "10.0.0.2", "--inventory", str(inventory))
    assert (done.returncode, done.stderr) == (0, "")
    assert '"device_ip": "10.2.0.1"' in (desk.work / "hccl_4p_0123_10.0.0.2.json").read_text()
    done = desk.gen("--device_num", "[0,4)", "--inventory", str(inventory), "--force", variables=DETECTED)
    assert '"device_ip": "10.1.0.1"' in (desk.work / "hccl_4p_0123_127.0.0.1.json").read_text()
    done = desk.gen("--device_num", "[0,4)", "--server_ip", "b", "--inventory", str(inventory))
    assert done.returncode == 2
    assert "has no server b; it has: 127.0.0.1, 10.0.0.2" in done.stderr


def test_simulate_needs_no_hardware_and_is_reported(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,8)", "--simulate", tool=False)
    assert (done.returncode, done.stderr) == (0, "")
    table = (desk.work / "hccl_8p_01234567_127.0.0.1.json").read_text()
    assert [device["device_ip"] for device in json.loads(table)["server_list"][0]["device"]] == [
        f"192.0.2.{last}" for last in (1, 65, 129, 193, 2, 66, 130, 194)
    ]
    assert "simulated, documentation addresses of RFC 5737" in done.stdout
    assert "the job runs on this host only" in done.stdout
    named = desk.gen("--device_num", "[0,8)", "--simulate", "--server_ip", "10.0.0.1", "--force", tool=False)
    assert (named.returncode, named.stderr) == (0, ""), "the lines about the addresses say it"


def test_a_machine_without_any_source_lists_the_alternatives(desk: Desk) -> None:
    if hccn_tool.find() or hccn_conf.DEFAULT.exists():
        pytest.skip("this machine has cards")
    text = refused(desk.gen("--device_num", "[0,8)", "--server_ip", "a", tool=False), desk)
    for word in (
        "hccn_tool",
        str(hccn_conf.DEFAULT),
        *hccn_tool.USUAL_PLACES,
        "--hccn-conf",
        "--inventory",
        "--simulate",
    ):
        assert word in text


def test_etc_hccn_conf_is_used_if_the_tool_is_missing(desk: Desk, tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or hccn_tool.find():
        pytest.skip("unshare is not installed, or this machine has cards")
    conf = tmp_path / "hccn.conf"
    conf.write_text("".join(f"address_{i}=10.1.{i}.1\n" for i in range(8)))
    gen = f"PYTHONPATH={ROOT} {sys.executable} -m hccl_kit.cli.gen --device_num '[0,4)' --server_ip a"
    # A private /etc in a mount namespace.
    inside = f"mount -t tmpfs tmpfs /etc || exit 77; cp {conf} /etc/hccn.conf && cd {desk.work} && exec env {gen}"
    done = subprocess.run([unshare, "-rm", "sh", "-c", inside], capture_output=True, text=True, check=False)
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert "addresses: /etc/hccn.conf" in done.stdout


def test_detected_loopback_is_a_warning(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,8)", variables=DETECTED)
    assert done.returncode == 0
    assert done.stderr.startswith("warning: server id 127.0.0.1 is loopback (HCCL_IF_IP)")
    assert "server id: 127.0.0.1, from HCCL_IF_IP" in done.stdout


def test_interface_that_hccl_would_not_find_is_refused(desk: Desk) -> None:
    text = refused(desk.gen("--device_num", "[0,8)", variables={"HCCL_SOCKET_IFNAME": "=nosuch0"}), desk)
    assert "HCCL_SOCKET_IFNAME==nosuch0 matches no interface" in text
    assert "--server_ip" in text


def test_second_run_changes_nothing(desk: Desk) -> None:
    arguments = ("--device_num", "[4,8)", "--server_ip", "a")
    desk.gen(*arguments)
    before = {path.name: path.stat().st_mtime_ns for path in desk.work.iterdir()}
    done = desk.gen(*arguments)
    assert done.returncode == 0
    assert "unchanged: hccl_4p_4567_a.json\nunchanged: ascend4p.sh\n" in done.stdout
    assert {path.name: path.stat().st_mtime_ns for path in desk.work.iterdir()} == before


def test_overwriting_other_content_needs_force(desk: Desk) -> None:
    mine = desk.work / "ascend4p.sh"
    mine.write_text("mine\n")
    arguments = ("--device_num", "[4,8)", "--server_ip", "a", *MINDSPORE)
    done = desk.gen(*arguments)
    assert (done.returncode, desk.written(), mine.read_text()) == (2, ["ascend4p.sh"], "mine\n")
    assert done.stderr.startswith("error: ascend4p.sh exists with other content\n  fix: --force")
    done = desk.gen(*arguments, "--force")
    assert (done.returncode, mine.read_text() == "mine\n") == (0, False)
    mine.write_text(mine.read_text().replace("a", "b"))  # same length, different content
    assert desk.gen(*arguments).returncode == 2


def test_a_folder_at_the_output_path_is_refused(desk: Desk) -> None:
    (desk.work / "ascend4p.sh").mkdir()
    done = desk.gen("--device_num", "[4,8)", "--server_ip", "a", "--force")
    assert (done.returncode, desk.written()) == (2, ["ascend4p.sh"])
    assert "ascend4p.sh is a folder" in done.stderr


def test_dry_run_shows_everything_and_writes_nothing(desk: Desk) -> None:
    arguments = ("--device_num", "[4,8)", "--server_ip", "127.0.0.1", *MINDSPORE)
    dry = desk.gen(*arguments, "--dry-run")
    assert (dry.returncode, dry.stderr, desk.written()) == (0, "", [])
    desk.gen(*arguments)
    for name in ("hccl_4p_4567_127.0.0.1.json", "ascend4p.sh"):
        assert f"would write: {name}\n{(desk.work / name).read_text().rstrip()}\n" in dry.stdout
    (desk.work / "ascend4p.sh").write_text("mine\n")
    dry = desk.gen(*arguments, "--dry-run")
    assert (dry.returncode, (desk.work / "ascend4p.sh").read_text()) == (2, "mine\n")
    assert "unchanged: hccl_4p_4567_127.0.0.1.json" in dry.stdout
    assert "exists with other content" in dry.stderr


def test_help_names_every_product(desk: Desk) -> None:
    done = desk.gen("--help")
    for word in (*PRODUCT_NAMES, "--device_num", "--visible_devices", "--server_ip", "-- COMMAND"):
        assert word in done.stdout


def test_job_numbers_give_different_ports(desk: Desk) -> None:
    arguments = ("--device_num", "[4,8)", "--simulate", "--force")
    assert desk.gen(*arguments, "--job", "1", "--", "true").returncode == 0
    assert 'export HCCL_IF_BASE_PORT="${HCCL_IF_BASE_PORT-65280}"' in (desk.work / "ascend4p.sh").read_text()
    for wrong in (("--job", "8"), ("--jobs-per-host", "4"), ("--job", "-1")):
        done = desk.gen(*arguments, *wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ")
