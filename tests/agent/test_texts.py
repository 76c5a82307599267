"""What the agent says: in the language of the texts that it was sent, as far as they can be used."""

from pathlib import Path

from hccl_kit.agent.texts import TEXTS, phrase
from tests.agent.jobs import python_job

GERMAN = {
    "agent.rank-failed": "Fehler: {host}: rank {rank} auf Karte {card}: {status}",
    "agent.exit-code": "Exitcode {code}",
    "agent.logs": "Protokolle in {folder}",
}


def test_a_text_is_in_the_language_that_was_sent_or_in_english() -> None:
    assert phrase({"agent.port": "Port {port}"}, "agent.port", port=7) == "Port 7"
    assert phrase({}, "agent.port", port=7) == "port 7"


def test_every_id_is_of_the_agent() -> None:
    assert all(id_.startswith("agent.") for id_ in TEXTS)


def test_people_read_the_texts_and_programs_read_english(tmp_path: Path) -> None:
    job = python_job(tmp_path, "sys.exit(3)", ranks=1, texts=GERMAN)
    done = job.run()
    assert done.returncode == 3
    assert done.stdout.rstrip().endswith(f", Protokolle in {job.logs}")
    assert done.stderr.splitlines()[1:3] == [
        "Fehler: n1: rank 0 auf Karte 4: Exitcode 3",
        f"  the end of {job.logs}/rank_0.log:",
    ]
    notes = (job.logs / "launcher_0").read_text()
    assert " exited 0 3 4 n1\n" in notes
