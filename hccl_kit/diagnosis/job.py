"""The diagnosis of a failed job from its logs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted
from hccl_kit.diagnosis.errors.row import row_text, with_reason
from hccl_kit.diagnosis.facts import Evidence
from hccl_kit.diagnosis.logs.log_file import events_of
from hccl_kit.diagnosis.logs.reading import Progress, read
from hccl_kit.diagnosis.logs.remote import Remote
from hccl_kit.diagnosis.most_telling import Telling, most_telling
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.diagnosis.verdict.judge import judge
from hccl_kit.table.model import RankTable


def diagnose(paths: Iterable[str | PathLike[str]], table: RankTable | None = None) -> Diagnosis:
    """Who broke a job, from its logs: files, folders and archives. `table` joins servers and cards to ranks.

    Raises KitError if there is no log in `paths`, or if it is one path.
    """
    if isinstance(paths, str | PathLike):
        raise KitError(
            "diagnosis.one-path",
            "{path!r} is one path, not a list of paths",
            fix="write diagnose([path])",
            path=str(paths),
        )
    diagnosis, _ = diagnosis_of([Path(path) for path in paths], table)
    return diagnosis


def diagnosis_of(
    paths: Sequence[Path],
    table: RankTable | None,
    progress: Progress | None = None,
    remote: Remote | None = None,
) -> tuple[Diagnosis, Telling | None]:
    """As `diagnose`; and the most telling line, if no rank is known to have failed or to wait.

    Other programs print the messages of many root errors too, so these are looked for in all lines only if nothing else
    tells more. `progress` gets how much of the logs is read. Those of `remote` hosts are read over ssh.
    """
    evidence = read(paths, progress, remote)
    diagnosis = judge(evidence, table)
    if diagnosis.first_fault or diagnosis.suspects or diagnosis.cascade:
        return diagnosis, None
    telling = most_telling(paths, diagnosis.files)
    if telling is None:
        _assert_has_logs(evidence)
        return diagnosis, None
    judged = judge(_with_root_error(evidence, telling), table)
    if not judged.first_fault:
        judged = diagnosis._replace(fix=row_text(telling.answer.row.fix) or diagnosis.fix)
    return judged, telling


def _with_root_error(evidence: Evidence, telling: Telling) -> Evidence:
    """The evidence with the root error of the most telling line, if that is one."""
    if not (root_error := telling.root_error):
        return evidence
    file = next(file for file in evidence.files if file.file == str(telling.file))
    of_file = {event.process for event in evidence.events if event.place.file == file.file}
    process = of_file.pop() if len(of_file) == 1 else file.process
    return evidence._replace(events=(*evidence.events, *events_of(file.file, process, [root_error])))


def _assert_has_logs(evidence: Evidence) -> None:
    """Raises KitError if not one line of a log was read."""
    if evidence.events or any(file.first is not None for file in evidence.files):
        return
    files = Message(
        "diagnosis.unrecognised",
        "{files} without a line that is recognised",
        files=counted(len(evidence.files), "file"),
    )
    file_names = files if evidence.files else Message("diagnosis.no-file", "no file")
    hint = Message(
        "diagnosis.unread.fix",
        "name the folder of the logs: ~/ascend/log, ASCEND_PROCESS_LOG_PATH or that of the launcher; `hccl-kit explain"
        " {file}` knows the messages of more programs",
        file=shlex.quote(evidence.files[0].file) if len(evidence.files) == 1 else "FILE",
    )
    whole = with_reason(file_names, evidence.notes[0]) if evidence.notes else file_names
    raise KitError(Message("diagnosis.unread", "nothing to diagnose, {found}", found=whole), hint=hint)
