"""The digest of the code tells every version apart."""

from pathlib import Path

from hccl_kit.ocr.code_digest import code_digest


def test_the_code_digest_covers_names_and_contents_of_modules(tmp_path: Path) -> None:
    def digest(**modules: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        (folder / "notes.txt").write_text(str(folder))
        return code_digest(folder)

    assert digest(a="1", b="2") == digest(b="2", a="1")
    assert len({digest(a="1"), digest(a="2"), digest(b="1"), digest(a="1", b=""), code_digest()}) == 5
