"""What is printed about a command that cannot be started, so that the program never ran.

Seen with `hccl-kit run`, util-linux 2.38 (setsid, setpriv), coreutils 9.1, Slurm 22.05 and Python 3.11, 2026-11-30.
"""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, in_stage, known

_STARTER = r"\b(?:setsid|setpriv|nohup|env|timeout|taskset): (?:failed to (?:execute|run command) )?"
_PATH = r"['‘]?(?P<path>[^\s'’:]{1,200})['’]?"
ROWS: tuple[KnownError, ...] = in_stage(
    "start of a process",
    known("""cause in_output
the command that starts the program is not there
example: cannot start: [Errno 2] No such file or directory: 'trian.py'
says: {path} is not there
cause: a typing error in the command
cause: a path that counts from another folder than the one in which the job was started
cause: the program is on another server only, or not in the image of the container
apart: ls -l PATH and command -v PROGRAM, where the rank runs
fix: correct the command; every server and every container needs the program at this path
""")._replace(
        patterns=(
            rf"cannot start: \[Errno 2\] No such file or directory: {_PATH}",
            rf"{_STARTER}{_PATH}: No such file or directory",
            rf"\berror: execve\(\): {_PATH}: No such file or directory",
            rf"can't open file {_PATH}: \[Errno 2\] No such file or directory",
            r"/python[0-9.]{0,5}: No module named (?P<path>[\w.]{1,200})",
        )
    ),
    known("""cause in_output
the command that starts the program may not be executed
example: cannot start: [Errno 13] Permission denied: './train.py'
says: {path} may not be executed by this user
cause: a program of Python or bash without the right to execute it
cause: a file system that is mounted noexec
apart: ls -l PATH; findmnt -T PATH
fix: start it by its interpreter, such as python train.py, or chmod +x FILE
""")._replace(
        patterns=(
            rf"cannot start: \[Errno 13\] Permission denied: {_PATH}",
            rf"{_STARTER}{_PATH}: Permission denied",
            rf"\berror: execve\(\): {_PATH}: Permission denied",
        )
    ),
    known(r"""cause in_output
the program refused its arguments
line: (?:^|[ :\]])(?P<program>[\w./-]{1,100}\.py): error: (?P<what>[^\n]{1,200})
example: train.py: error: unrecognized arguments: --lrr 3
says: {program}: {what}
cause: a typing error in an option, or an option of another release of the program
apart: python PROGRAM --help, where the rank runs
fix: correct what stands behind the program in the command
"""),
    known(r"""cause
a shell did not find a command of a script
line: (?:^|[ :])(?P<path>[\w.+-]{1,100}): (?:command )?not found$
example: train.sh: line 3: torchrun: command not found
says: {path} is not in PATH
cause: the environment is not active that has it
cause: it is not installed in the image of the container
apart: command -v COMMAND; echo $PATH, in the script itself: a login shell may have another PATH
fix: activate the environment in the script, or name the command with its whole path; a script goes on after this line
    unless it has set -e
"""),
)
