from hccl_kit.base.process_end import killed_by


def test_a_signal_has_its_name_and_without_one_its_number() -> None:
    assert [killed_by(number) for number in (9, 40, 77)] == [
        "killed by SIGKILL",
        "killed by signal 40",
        "killed by signal 77",
    ]
