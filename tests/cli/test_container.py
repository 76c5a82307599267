"""hccl-kit container: reports what a container lacks, according to its file system."""

import json
from pathlib import Path

import pytest
import yaml

from hccl_kit.cli.container import main
from hccl_kit.preflight.container import as_docker, as_pod, lacking, needs
from tests.preflight.nodes import table_text

DRIVER = {"LD_LIBRARY_PATH": "/usr/local/Ascend/driver/lib64"}


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table.json"
    path.write_text(table_text(cards=2))
    return str(path)


def test_prints_all_options_for_docker(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([table, "--complete"]) == 0
    words = capsys.readouterr().out.split()
    for option in ("--device=/dev/davinci0", "--device=/dev/davinci1", "--device=/dev/hisi_hdc", "--shm-size=1g"):
        assert option in words
    assert "/usr/local/Ascend/driver:/usr/local/Ascend/driver:ro" in words
    assert "--device=/dev/davinci2" not in words


def test_the_pod_fragment_is_valid_yaml(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([table, "--engine", "k8s", "--complete"]) == 0
    spec = yaml.safe_load(capsys.readouterr().out)["spec"]
    (container,) = spec["containers"]
    assert container["resources"]["limits"] == {"huawei.com/Ascend910": 2}
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    assert all(len(volume["name"]) <= 63 for volume in spec["volumes"])


def test_missing_devices_are_exit_1(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    """This machine has no card, like a container that was started without --device."""
    assert main([table, "--format", "json"]) == 1
    assert "/dev/davinci0" in json.loads(capsys.readouterr().out)["devices"]


def test_a_table_of_other_servers_needs_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.json"
    path.write_text(table_text(servers=2, first="10.9.9.9"))
    assert main([str(path)]) == 2
    assert "--server ID" in capsys.readouterr().err
    assert main([str(path), "--server", "10.9.9.9", "--complete"]) == 0


def test_only_absent_files_are_reported_as_missing(tmp_path: Path) -> None:
    needed = needs([0, 1], "1.0")
    for path in (*needed.devices, *needed.mounts):
        place = tmp_path / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("driver"):
            (place / "lib64").mkdir(parents=True)
        else:
            place.touch()
    (tmp_path / "dev/shm").mkdir()
    assert lacking(needed, tmp_path, DRIVER).is_nothing or lacking(needed, tmp_path, DRIVER).shm
    (tmp_path / "dev/davinci1").unlink()
    (tmp_path / "etc/hccn.conf").unlink()
    found = lacking(needed, tmp_path, DRIVER)
    assert list(found.devices) == ["/dev/davinci1"]
    assert list(found.mounts) == ["/etc/hccn.conf"]


def test_a_partially_mounted_driver_is_reported_for_atlas_950(tmp_path: Path) -> None:
    """vllm-project/recipes#907: only lib64 was mounted, and HCCL found no topology."""
    (tmp_path / "usr/local/Ascend/driver/lib64").mkdir(parents=True)
    assert "/usr/local/Ascend/driver" in lacking(needs([0], "2.0"), tmp_path, {}).mounts
    (tmp_path / "usr/local/Ascend/driver/topo").mkdir()
    assert "/usr/local/Ascend/driver" not in lacking(needs([0], "2.0"), tmp_path, {}).mounts


def test_if_nothing_is_missing_the_fragment_is_empty() -> None:
    found = lacking(needs([0], "1.0"), Path("/nowhere"), DRIVER)._replace(devices={}, mounts={}, variables={}, shm=0)
    assert as_docker(found) == ""
    assert as_pod(found) == {"spec": {"containers": [{"name": "worker"}]}}
