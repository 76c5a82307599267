"""The scripts enable the flight recorders of torch with files in the run folder, unless the user has set them."""

import os
import subprocess

import pytest

from hccl_kit.launch import recorders, shell

NAMES = [one.name for one in recorders.RECORDERS]


def switched(**given: str) -> dict[str, str]:
    """The variables of torch after this part of a script, with shell characters in the folder name."""
    text = "\n".join(["set -euo pipefail", *shell.recorders(), "logs='/a b/&$x'", "switch_recorders_on", "env"])
    done = subprocess.run(
        ["bash", "-c", text], env={"PATH": os.environ["PATH"], **given}, check=True, capture_output=True, text=True
    )
    lines = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in lines if name.startswith("TORCH_")}


def test_all_recorders_are_enabled() -> None:
    found = switched()
    assert sorted(found) == sorted(NAMES)
    assert found["TORCH_HCCL_TRACE_BUFFER_SIZE"] == "2000"
    assert found["TORCH_HCCL_DEBUG_INFO_TEMP_FILE"] == "/a b/&$x/hccl_trace_rank_"
    assert found["TORCH_FR_DUMP_TEMP_FILE"] == "/a b/&$x/torch_trace_rank_"


@pytest.mark.parametrize(
    ("given", "off"),
    [
        ("TORCH_FR_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
        ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"),
        ("TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT"),
        ("HCCL_ENABLE_MONITORING", "TORCH_HCCL_ENABLE_MONITORING"),
        ("TORCH_HCCL_TRACE_BUFFER_SIZE", "TORCH_HCCL_ENABLE_MONITORING"),
    ],
)
@pytest.mark.parametrize("value", ["0", "7", ""])
def test_variables_set_by_the_user_are_kept(given: str, off: str, value: str) -> None:
    found = switched(**{given: value})
    assert found.get(given, value) == value
    assert given == off or off not in found


def test_nothing_changes_if_the_user_has_set_all_variables() -> None:
    assert switched(**dict.fromkeys(NAMES, "x")) == dict.fromkeys(NAMES, "x")
