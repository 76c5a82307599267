"""Settings of ranks are read from processes, files and logs; anything else is one error line."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.facts import Event, Evidence, Place, Process, Setting
from hccl_kit.diagnosis.rank_settings import of_evidence, read_settings
from tests.waiting import wait_until

PLOG = """\
[INFO] HCCL(4711,python):2026-03-02-10:00:00.000.001 [env.cc:1] [4711]HCCL_CONNECT_TIMEOUT set by environment to [130]s
[INFO] HCCL(4711,python):2026-03-02-10:00:00.000.002 [env.cc:2] [47][HCCL_ENV] HCCL_IF_BASE_PORT set by default [60000]
"""


def test_reads_a_running_process_by_its_pid() -> None:
    environ = {"HCCL_IF_BASE_PORT": "50000", "EMPTY": "", "LINES": "a\nHCCL_EXEC_TIMEOUT=5"}
    with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], **environ}) as process:
        try:
            assert wait_until(lambda: b"HCCL_" in Path(f"/proc/{process.pid}/environ").read_bytes())
            (had,) = read_settings(str(process.pid))
            (same,) = read_settings(f"/proc/{process.pid}/environ")
        finally:
            process.kill()
    assert (had.source, had.is_complete) == (f"process {process.pid}", True)
    assert had.values == same.values == {"PATH": os.environ["PATH"], **environ}


def test_a_process_that_has_ended_is_an_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with pytest.raises(KitError, match=f"process {process.pid}: cannot read"):
        read_settings(str(process.pid))


@pytest.mark.parametrize("command", ["env", "export -p", "env -0"])
def test_reads_the_output_of_env_and_export(command: str, tmp_path: Path) -> None:
    file = tmp_path / "env.txt"
    environ = {"HCCL_SOCKET_IFNAME": "=eth0", "ODD": "it's $HOME `id` \\", "PATH": os.environ["PATH"]}
    file.write_bytes(subprocess.run(["bash", "-c", command], env=environ, check=True, capture_output=True).stdout)
    (had,) = read_settings(str(file))
    assert had.values.items() >= {"HCCL_SOCKET_IFNAME": "=eth0", "PATH": os.environ["PATH"]}.items()
    assert had.is_complete


@given(
    st.dictionaries(st.from_regex(r"\A[A-Z_][A-Z0-9_]{0,20}\Z"), st.text("aZ0 ='\"$\\`-,;|é", max_size=9), min_size=1)
)
def test_exported_settings_round_trip(values: dict[str, str]) -> None:
    with NamedTemporaryFile("w", encoding="utf-8") as file:
        file.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())
        file.flush()
        (settings,) = read_settings(file.name)
    assert settings.values == values


def test_plogs_state_some_variables(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "plog"
    folder.mkdir(parents=True)
    (folder / "plog-4711_20260302100000000.log").write_text(PLOG)
    values = {"HCCL_CONNECT_TIMEOUT": "130", "HCCL_IF_BASE_PORT": "60000"}
    subprocess.run(["tar", "-czf", tmp_path / "logs.tar.gz", "-C", tmp_path, "run"], check=True)
    subprocess.run(["tar", "-cf", tmp_path / "logs.tar", "-C", tmp_path, "run"], check=True)
    for source in (tmp_path / "run", *folder.iterdir(), tmp_path / "logs.tar", tmp_path / "logs.tar.gz"):
        assert [(had.values, had.is_complete) for had in read_settings(str(source))] == [(values, False)]


@pytest.mark.parametrize(
    ("name", "printed", "meant"),
    [
        ("HCCL_IF_BASE_PORT", "50000", "50000"),
        ("HCCL_IF_BASE_PORT", "65536", None),
        ("HCCL_IF_BASE_PORT", "4294967295", None),
        ("HCCL_IF_IP", "10.0.0.1", "10.0.0.1"),
        ("HCCL_IF_IP", "0.0.0.0", None),
        ("HCCL_IF_IP", "EmptyString", None),
        ("HCCL_IF_IP", "IpAddress[AF=v4]", None),
        ("HCCL_NPU_SOCKET_PORT_RANGE", "61000, 61015", "61000-61015"),
        ("HCCL_SOCKET_IFNAME", "EmptyString", None),
        ("HCCL_EXEC_TIMEOUT", "1836", "1836"),
    ],
)
def test_values_printed_by_hccl_are_converted_to_settings(name: str, printed: str, meant: str | None) -> None:
    event = Event(Process("a", 1), Place("f", 1), None, False, Setting(name, printed))
    found = of_evidence(Evidence((), (event,)))
    assert [dict(had.values) for had in found] == ([] if meant is None else [{name: meant}])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has no variables"),
        (b"hello\nworld\n", "has no variables"),
        (bytes(range(256)) * 64, "has no variables"),
        (b"[ERROR] HCCL(1,p):2026-03-02-10:00:00.000.001 [a.cc:1] [1]nothing\n", "prints no variable of HCCL"),
        (b"A=" + b"x" * (5 << 20), "is larger than"),
    ],
    ids=["empty", "text", "binary", "log", "large"],
)
def test_any_other_input_is_one_error_line(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(KitError, match=why):
        read_settings(str(tmp_path / "f"))


def test_does_not_block_on_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(KitError, match="not a regular file"):
        read_settings(str(tmp_path / "pipe"))


def test_a_missing_source_is_an_error() -> None:
    with pytest.raises(KitError, match="No such file"):
        read_settings("nowhere.txt")
