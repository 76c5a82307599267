"""How many lines of a corpus `hccl-kit explain` knows: python -m benchmarks.explain_lines lines.jsonl [--show]

A line of the corpus is an object with id, line, role, meaning and fix. Whether an answer is right is for a person to
judge: --show prints both beside each other.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.lookup import explain

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("corpus", type=Path)
parser.add_argument("--show", action="store_true", help="print every line, its verdict and the answer")
options = parser.parse_args()

counts: Counter[str] = Counter()
for text in options.corpus.read_text(encoding="utf-8").splitlines():
    entry = json.loads(text)
    try:
        found = explain(entry["line"])
    except KitError:
        counts["unknown"] += 1
        print(f"{entry['id']}: UNKNOWN {entry['line'][:160]!r}")
        continue
    answer = found.answers[0] if found.answers else None
    counts[answer.row.role if answer else "rules only"] += 1
    if options.show:
        print(f"{entry['id']}: {entry['line'][:160]!r}\n  verdict: {entry['meaning']}; fix: {entry['fix']}")
        if answer:
            print(f"  answer:  {answer.code or '-'} [{answer.row.role}] {answer.row.what}; {'; '.join(answer.says)}")
            print(f"  causes:  {' / '.join(answer.row.causes)}\n  fix:     {answer.row.fix}\n")
total = counts.total()
print(f"{total - counts['unknown']} of {total} explained: {dict(counts)}")
