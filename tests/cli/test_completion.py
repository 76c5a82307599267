"""hccl-kit completion in real shells."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from hccl_kit.cli.completion import SHELLS
from tests.program import kit


def script(shell: str, folder: Path) -> Path:
    path = folder / f"completion.{shell}"
    path.write_text(kit("completion", shell, cwd=folder).stdout)
    return path


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


# The typed text, and the words offered to complete it; a single word would be completed at once.
TYPED = [
    ("hccl-kit ch", {"check"}),
    ("hccl-kit check --sel", {"--select"}),
    ("hccl-check --product a", {"a2", "a2-box16", "a3", "a5", "auto"}),
    ("hccl-kit check --format ", {"text", "json", "github", "sarif"}),
    ("hccl-merge --he", {"--help"}),
    ("hccl-check my_ta", {"my_table.json"}),
    ("hccl-kit diagnose my_ta", {"my_table.json"}),
    ("hccl-kit read my_ta", {"my_table.json"}),
]


@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_bash_completes(typed: str, offered: set[str], tmp_path: Path) -> None:
    words = typed.split(" ")
    (tmp_path / "my_table.json").touch()
    code = (
        f"source {script('bash', tmp_path)}\n"
        f"COMP_WORDS=({' '.join(word or '' + chr(39) * 2 for word in words)}) COMP_CWORD={len(words) - 1}\n"
        f"$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\) .*/\\1/' >name; cat name)\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300
    )
    assert set(done.stdout.split()) == offered, done.stderr


@needs("fish")
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_fish_completes(typed: str, offered: set[str], tmp_path: Path) -> None:
    (tmp_path / "my_table.json").touch()
    code = f'source {script("fish", tmp_path)}; complete -C "{typed}"'
    environ = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(
        ["fish", "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True, timeout=300
    )
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == offered, done.stderr


@needs("zsh")
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_zsh_completes(typed: str, offered: set[str], tmp_path: Path) -> None:
    (tmp_path / "my_table.json").touch()
    setup = f'autoload -U compinit && compinit -D -u && eval "$(<{script("zsh", tmp_path)})" && PS1=READY'
    screen = Terminal(["zsh", "-f", "-i"], tmp_path)
    try:
        screen.type(f"{setup}\n")
        screen.wait_for('READY(?!")')
        screen.type(f"{typed}\t")
        for word in offered:
            screen.wait_for(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    finally:
        screen.close()


class Terminal:
    """A program on a terminal."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self._end, theirs = pty.openpty()
        environ = os.environ | {"TERM": "dumb", "HOME": str(cwd)}
        self._process = subprocess.Popen(command, cwd=cwd, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self._screen = ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait_for(self, pattern: str) -> None:
        """Read until the pattern is on the screen."""
        end = time.monotonic() + 60
        while not re.search(pattern, self._screen):
            assert time.monotonic() < end, self._screen
            if select.select([self._end], [], [], 1)[0]:
                self._screen += os.read(self._end, 4096).decode(errors="replace")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._end)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_has_its_options(shell: str, tmp_path: Path) -> None:
    text = script(shell, tmp_path).read_text()
    for words in ("preflight", "--ssh-option", "explain", "--device_num", "--netmask"):
        assert words.lstrip("-") in text


def test_an_unknown_shell_is_named(tmp_path: Path) -> None:
    done = kit("completion", "csh", cwd=tmp_path)
    assert done.returncode == 2
    assert "invalid choice: 'csh' (choose from 'bash', 'zsh', 'fish')" in done.stderr
