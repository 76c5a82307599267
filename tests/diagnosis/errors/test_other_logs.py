"""Lines of other programs get no code: words and numbers alone are not an error of HCCL."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.known_lines import explain_lines
from hccl_kit.diagnosis.lookup import MAYBE, explain
from tests.diagnosis.errors.other_logs import lines


@pytest.mark.parametrize("number", [2_000, pytest.param(12_000, marks=pytest.mark.long)])
def test_lines_of_other_programs_are_unknown(number: int) -> None:
    given = [*lines(number)]
    assert len(set(given)) > 0.6 * number
    assert [line for line in given if explain_lines([line]) is not None] == []


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_line_of_another_program_is_not_explained(seed: int) -> None:
    for line in lines(200, seed):
        with pytest.raises(KitError, match="no rule, code or message matches"):
            explain(line)


@pytest.mark.parametrize("text", ["error code is 11", "error code is 507048", "507048", " Error code 9".lower()])
def test_a_bare_number_is_explained_as_a_possible_hccl_code(text: str) -> None:
    assert explain(text).answers[0].says == (MAYBE,)


@pytest.mark.parametrize(
    "line",
    [
        "Nov 22 10:00:00 db sshd[4711]: error code is 11",
        "backup: error code is 507048",
        "job 507048 done",
        "libfoo: ret[9]",
        "sort ascending: error code is 107001",
    ],
)
def test_a_number_of_another_program_is_not_an_error_of_hccl(line: str) -> None:
    assert explain_lines([line]) is None
