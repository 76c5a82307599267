"""Detection of installed packages from the files that they install."""

from pathlib import Path

import pytest

from hccl_kit.discovery.installation import Package, cann, driver, firmware, in_range
from tests.preflight.samples import sample

HOME = "usr/local/Ascend"


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_machine_without_packages_has_none(tmp_path: Path) -> None:
    assert (driver(tmp_path), firmware(tmp_path), cann(tmp_path, {})) == (None, None, None)


def test_the_driver_declares_compatible_versions(tmp_path: Path) -> None:
    put(tmp_path, f"{HOME}/driver/version.info", sample("a2/driver.info"))
    found = driver(tmp_path)
    assert found is not None
    assert (found.version, found.release) == ("24.1.rc3", "V100R001C19")
    assert found.releases == {f"V100R001C{number}" for number in (13, 15, 17, 18, 19)}
    assert found.firmware == (("6.4.0", "6.4.99"), ("7.0.0", "7.5.99"))


def test_the_driver_folder_is_read_from_its_install_file(tmp_path: Path) -> None:
    put(tmp_path, "etc/ascend_install.info", "Driver_Install_Path_Param=/opt/npu\nDriver_Install_Status=complete\n")
    put(tmp_path, "opt/npu/driver/version.info", "Version=23.0.5\n")
    put(tmp_path, "opt/npu/firmware/version.info", "Version=7.1.0.7.220\n")
    assert (driver(tmp_path), firmware(tmp_path)) == (Package("23.0.5"), Package("7.1.0.7.220"))


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_the_cann_of_the_environment_takes_precedence(tmp_path: Path, variable: str) -> None:
    put(tmp_path, f"{HOME}/cann/x86_64-linux/ascend_toolkit_install.info", "version=9.0.0\n")
    put(tmp_path, "home/ma/cann/aarch64-linux/ascend_nnae_install.info", sample("a2/cann-install.info"))
    found = cann(tmp_path, {variable: "/home/ma/cann"})
    assert found is not None
    assert (found.version, found.release, "V100R001C19" in found.releases) == ("8.3.RC2", "V100R001C23", True)
    assert cann(tmp_path, {}) == Package("9.0.0")
    assert cann(tmp_path, {variable: "/no/such"}) == Package("9.0.0")


def test_a_user_installation_of_cann_is_found_in_the_home_folder(tmp_path: Path) -> None:
    put(tmp_path, "home/ma/Ascend/ascend-toolkit/latest/version.cfg", sample("a2/cann-version.cfg"))
    assert cann(tmp_path, {"HOME": "/home/ma"}) == Package("8.0.RC3")
    assert cann(tmp_path, {}) is None


@pytest.mark.parametrize("text", ["", "no sign", "Version=\n", "#Version=1\n", "\0\xff\n", "Version" * 20_000])
def test_a_file_without_a_version_has_no_version(tmp_path: Path, text: str) -> None:
    put(tmp_path, f"{HOME}/driver/version.info", text)
    put(tmp_path, f"{HOME}/cann/version.cfg", "toolkit_running_version=8.0\n")
    assert (driver(tmp_path), cann(tmp_path, {})) == (None, None)


def test_a_folder_or_a_circular_link_has_no_version(tmp_path: Path) -> None:
    (tmp_path / HOME / "driver" / "version.info").mkdir(parents=True)
    place = tmp_path / HOME / "firmware"
    place.symlink_to(place)
    assert (driver(tmp_path), firmware(tmp_path)) == (None, None)


@pytest.mark.parametrize(
    ("version", "least", "most", "is_in"),
    [
        ("7.5.0.1.129", "7.0.0", "7.5.99", True),
        ("7.3.0.1.231", "7.0.0", "7.2.99", False),
        ("7.10.0", "7.2.0", "7.12.0", True),
        ("6.4.0", "6.4.0", "6.4.99", True),
        ("6.3.9", "6.4.0", "6.4.99", False),
        ("", "6.4.0", "6.4.99", False),
    ],
)
def test_versions_are_compared_numerically(version: str, least: str, most: str, is_in: bool) -> None:
    assert in_range(version, least, most) is is_in
