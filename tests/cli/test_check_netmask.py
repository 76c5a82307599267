"""`hccl-check --netmask`: a table has no netmask, so the user may supply it."""

import pytest

from hccl_kit.cli.check import main
from tests.places import TESTS

FOLDER = TESTS / "check" / "rules" / "HK319"
BAD, GOOD = str(FOLDER / "bad.json"), str(FOLDER / "ok.json")


@pytest.mark.parametrize("mask", ["255.255.255.0", "24", "/24"])
def test_addresses_are_checked_against_the_planes_of_the_product(mask: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--product", "910", "--netmask", mask, BAD]) == 0
    assert "HK319 warning" in capsys.readouterr().out
    assert main(["--product", "910", "--netmask", mask, "--strict", GOOD]) == 0
    assert main(["--product", "910", "--netmask", mask, "--strict", BAD]) == 1


def test_segments_are_not_checked_without_netmask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--product", "910", BAD]) == 0
    assert "warning" not in capsys.readouterr().out


@pytest.mark.parametrize("mask", ["", "24x", "255.255.255", "129", "-1", "255.0.255.0", "٢٤", "fd00::"])
def test_an_invalid_netmask_is_refused_with_the_accepted_values(mask: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--product", "910", f"--netmask={mask}", BAD]) == 2
    assert "is not a valid netmask; accepted: 255.255.255.0, 24" in capsys.readouterr().err


def test_netmask_requires_a_product(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--netmask", "24", BAD]) == 2
    assert capsys.readouterr().err.startswith("error: --netmask needs --product")
