"""The log folder of a run that this process starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hccl_kit.agent.run_folder import UnsafeError, name_of_run, new_run, trusted_logs
from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import as_note, system_reason
from hccl_kit.launch.agent_texts import agent_texts


def make_log_folder(parent: Path, report: Callable[[str], None]) -> Path:
    """A new folder in `parent`, which is made if it is missing, and the link `latest` to it.

    `report` gets a note if other users may write there. Raises KitError if they could replace what is in it.
    """
    try:
        parent.absolute().parent.mkdir(parents=True, exist_ok=True)
        logs = trusted_logs(parent.absolute(), lambda risk: report(as_note(risk)), agent_texts())
        run = new_run(logs, name_of_run())
    except UnsafeError as error:
        raise KitError("launch.unsafe-logs", "{what}", hint=error.fix, what=error.what) from error
    except OSError as error:
        raise KitError(
            "launch.no-log-folder",
            "cannot make a folder for the logs in {folder}: {reason}",
            fix="--log-dir DIR names another place",
            folder=parent,
            reason=system_reason(error),
        ) from error
    latest = logs / "latest"
    with suppress(OSError):
        if latest.is_symlink():
            latest.unlink()
        latest.symlink_to(run.name)
    return run
