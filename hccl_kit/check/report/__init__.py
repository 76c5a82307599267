"""A verdict in words: `text` for people, `json_form` for programs, `github` for its log, `sarif` for its code scanning.

The last two are imported where they are asked for; most checks are not.
"""

from hccl_kit.check.report.json_form import as_json
from hccl_kit.check.report.text import as_text

__all__ = ["as_json", "as_text"]
