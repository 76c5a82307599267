"""Any bytes among the logs of a job give a diagnosis, which every output format can show."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.planted_kinds import KINDS
from benchmarks.plogs import Plogs, new_job
from hccl_kit import KitError, diagnose
from hccl_kit.diagnosis.report.html import as_html
from hccl_kit.diagnosis.report.json_form import as_json
from hccl_kit.diagnosis.report.masked import masked
from hccl_kit.diagnosis.report.text import as_text

NASTY = (
    b"\0",
    b"\xff\xfe",
    b"\x1b[2J",
    b"[ERROR] HCCL(",
    b"]" * 50,
    b"9" * 400,
    b"-1",
    b"rank[99999999999]",
    b"\r",
    b"\n",
)


def damaged(data: bytes, random: Random) -> bytes:
    """The bytes with a part removed, duplicated, swapped or inserted."""
    for _ in range(random.randint(1, 4)):
        start, end = sorted((random.randint(0, len(data)), random.randint(0, len(data))))
        way = random.randrange(5)
        if way == 0:
            data = data[:start]
        elif way == 1:
            data = data[:start] + data[end:]
        elif way == 2:
            data = data[:start] + random.choice(NASTY) + data[start:]
        elif way == 3:
            lines = data.split(b"\n")
            random.shuffle(lines)
            data = b"\n".join(lines)
        else:
            data = data.replace(random.choice((b"0", b"1", b"7")), random.choice((b"9", b"", b"x", b"88888")))
    return data


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_damaged_logs_give_a_diagnosis(seed: int) -> None:
    random = Random(seed)
    logs = Plogs(new_job(random, 8), random)
    random.choice(KINDS)(logs, random)
    with TemporaryDirectory() as folder:
        for path in logs.write(Path(folder)):
            if random.random() < 0.7:
                path.write_bytes(damaged(path.read_bytes(), random))
        try:
            diagnosis = diagnose([folder])
        except KitError as error:
            assert error.message.startswith(("nothing to diagnose", "no log"))
            return
    for one in (diagnosis, masked(diagnosis)):
        assert as_text(one).replace("\n", "").isprintable()
        assert as_json(one).isascii()
        assert "<script" not in as_html(one)


def test_a_path_of_any_type_is_accepted(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="no log was found"):
        diagnose([str(tmp_path)])
