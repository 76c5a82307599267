"""The words of ssh, which stand in one place."""

import ast
import re
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.remote.ssh import OPTIONS, over_ssh, refusal, ssh_start
from tests.places import ROOT

GOES = "hccl_kit/launch/"
"""Goes with the old start over ssh."""
WORDS = re.compile(r"BatchMode|ConnectTimeout|ServerAlive|^HCCL_KIT_SSH$")


def test_the_ssh_command_of_the_user_is_used() -> None:
    assert ssh_start({}) == ("ssh", *OPTIONS)
    start = ssh_start({"HCCL_KIT_SSH": "ssh -F 'my file' -p 2222"}, ["User=train", "-evil"])
    assert start == ("ssh", "-F", "my file", "-p", "2222", "-o", "User=train", "-o", "-evil", *OPTIONS)
    with pytest.raises(KitError, match="HCCL_KIT_SSH cannot be parsed"):
        ssh_start({"HCCL_KIT_SSH": "ssh 'x"})


def test_the_shell_there_gets_each_word_as_it_is() -> None:
    words = over_ssh(("ssh",), "node1", ("sh", "-c", "echo $HOME; 'x'"))
    assert words == ("ssh", "--", "node1", """sh -c 'echo $HOME; '"'"'x'"'"''""")


@pytest.mark.parametrize("address", ["10.0.0.1", "node-1.example", "fd00::1", "fe80::1%eth0"])
def test_valid_addresses_are_accepted(address: str) -> None:
    assert refusal(address) is None


@pytest.mark.parametrize("address", ["", "-oProxyCommand=x", "rack 1", "a;b", "$(x)", "x" * 300, "a\nb"])
def test_invalid_addresses_are_refused(address: str) -> None:
    assert refusal(address)


def texts(path: Path) -> "list[str]":
    """The texts of a module that are not docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in nodes if isinstance(node.value, str)]


def test_no_other_module_starts_ssh_or_knows_its_options() -> None:
    starters = set()
    for path in ROOT.glob("hccl_kit/**/*.py"):
        name = str(path.relative_to(ROOT))
        is_cli = name.startswith("hccl_kit/cli/")  # "ssh" is the name of an option there
        found = [text for text in texts(path) if WORDS.search(text) or (text == "ssh" and not is_cli)]
        if found and not name.startswith(GOES):
            starters.add(name)
    assert starters == {"hccl_kit/remote/ssh.py"}
