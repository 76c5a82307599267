"""A program with connections to all servers reports an insufficient limit of open files."""

import resource

import pytest

from hccl_kit.launch.payload.descriptors import allow_open_files


@pytest.mark.parametrize(("most", "refused"), [(99, True), (100, False), (resource.RLIM_INFINITY, False)])
def test_an_insufficient_limit_of_open_files_is_reported(
    most: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (10, most))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limits: set_to.append(limits))
    found = allow_open_files(100)
    assert set_to == [(most, most)]
    assert bool(found) == refused
    if refused:
        assert found.startswith("error: the job needs 100 open files on this server, and the system all")
        assert "allows 99\n  fix: raise the hard limit" in found
