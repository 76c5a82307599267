"""Healthy servers, which tests modify."""

from pathlib import Path

import pytest

from tests.preflight.machines import A2, A3, A5, DUO, Machine, machine_of


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Of Atlas A2."""
    return machine_of(A2, tmp_path, monkeypatch)


@pytest.fixture
def a3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A3, tmp_path, monkeypatch)


@pytest.fixture
def a5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A5, tmp_path, monkeypatch)


@pytest.fixture
def duo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(DUO, tmp_path, monkeypatch)
