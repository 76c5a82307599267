"""The pages of the documentation."""

from pathlib import Path

from tests.places import ROOT

DOCS = ROOT / "docs"
README, TUTORIAL = ROOT / "README.md", DOCS / "tutorial.md"
ELSEWHERE = ("errors.md", "config.md", "models.md", "api.md", "architecture.md")
"""Generated pages, and pages whose blocks have separate tests."""
IN_CHINESE = {ROOT / "README.zh-CN.md": README} | {page: DOCS / page.name for page in sorted(DOCS.glob("zh/*.md"))}
"""A page in Chinese, and the page that it translates."""
IN_ENGLISH = [README, *sorted(page for page in DOCS.glob("*.md") if page.name not in ELSEWHERE)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))
