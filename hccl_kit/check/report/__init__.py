"""A report as text: `text` for people, `json_form` for programs, `github` for its log, `sarif` for code scanning.

The last two are imported on demand; most checks do not need them.
"""

from hccl_kit.check.report.json_form import as_json
from hccl_kit.check.report.text import as_text

__all__ = ["as_json", "as_text"]
