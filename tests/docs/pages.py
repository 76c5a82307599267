"""The pages of the documentation."""

from tests.places import ROOT

DOCS = ROOT / "docs"
GENERATED = ("rules.md", "errors.md", "config.md")
PAGES = [
    *sorted(ROOT.glob("README*.md")),
    *sorted(page for page in DOCS.rglob("*.md") if page.name not in GENERATED),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
