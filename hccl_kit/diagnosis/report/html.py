"""A diagnosis as one page that loads nothing and runs nothing, so that it can be attached to an issue."""

from __future__ import annotations

from collections.abc import Iterable

from hccl_kit import __version__
from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.diagnosis.moments import clock
from hccl_kit.diagnosis.report import graph, timeline
from hccl_kit.diagnosis.report.markup import element, page, text
from hccl_kit.diagnosis.report.text import FIRST_FAULT, lines
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.diagnosis.verdict.names import place_name, rank_name

MAX_PLACES = 2000
_TITLES = {
    "certain": Message("diagnosis.title-certain", "The first fault is known"),
    "likely": Message("diagnosis.title-likely", "A first fault is likely"),
    "cannot_tell": Message("diagnosis.title-cannot-tell", "Cannot tell"),
}
_COLUMNS = (
    Message("diagnosis.column-time", "time"),
    Message("diagnosis.column-rank", "rank"),
    Message("diagnosis.column-what", "what"),
    Message("diagnosis.column-where", "where"),
)
_STYLE = """
:root { --box: #eef1f5; --wait: #2f6fad; }
@media (prefers-color-scheme: dark) { :root { --box: #1e2731; --wait: #79b8ff; } }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; }
dt { color: var(--pale); } dd { margin: 0; overflow-wrap: anywhere; grid-column: 2; }
.scroll { overflow: auto; max-height: 75vh; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; }
table { width: 100%; } td, th { text-align: left; padding: .15rem .8rem .15rem 0;
  vertical-align: top; } td { overflow-wrap: anywhere; } td:first-child { min-width: 10ch; }
th { font-weight: normal; } svg text { fill: var(--ink); }
#timeline { position: relative; padding-top: 22px; font-size: 12px; }
#timeline .row { display: flex; } #timeline .row span { flex: none; width: 270px; overflow-wrap: anywhere; }
#timeline svg { flex: 1; margin-right: 70px; height: 20px; overflow: visible; }
#timeline svg.ticks { position: absolute; left: 270px; top: 0; width: calc(100% - 340px); height: 100%; }
#timeline line { stroke: var(--line); } #timeline circle { fill: var(--wait); stroke: var(--paper); }
#timeline .count { font-size: 10px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
#timeline text { fill: var(--pale); } #timeline .none { font-style: italic; } .ticks text { text-anchor: middle; }
#timeline .culprit circle { fill: var(--bad); } #timeline .culprit span { color: var(--bad); font-weight: 600; }
svg .culprit text { fill: var(--bad); font-weight: 600; }
svg .box rect { fill: var(--box); stroke: var(--line); } svg .culprit rect { stroke: var(--bad); stroke-width: 2; }
svg .edge { fill: none; stroke: var(--wait); } svg .arrow { fill: var(--wait); }
@media (max-width: 1100px) { .ticks g:nth-child(even) { display: none; } }
@media (max-width: 700px) { dl { display: block; } table, tbody, tr, td { display: block; } th { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .3rem 0; } td { padding: 0; }
  #graph { max-width: 100%; height: auto; } #timeline .row { display: block; } #timeline .row span { width: auto; }
  #timeline svg, #timeline svg.ticks { left: 0; width: 100%; margin: 0; display: block; }
  .ticks g:not(:first-child, :last-child) { display: none; }
  .ticks g:first-child text { text-anchor: start; } .ticks g:last-child text { text-anchor: end; } }
"""


def as_html(diagnosis: Diagnosis) -> str:
    """The page: the answer, the graph of waits, the timeline of the ranks, and the evidence."""
    fault = diagnosis.first_fault
    culprit = fault.suspect if fault else None
    body = [
        element("h1", translated(_TITLES[diagnosis.certainty])),
        element("dl", *_answer(diagnosis)),
        *_section(graph.TITLE, graph.as_svg(diagnosis.cascade, culprit)),
        *_section(Message("diagnosis.section-timeline", "Timeline"), timeline.as_rows(diagnosis)),
        *_section(Message("diagnosis.section-evidence", "Evidence"), _evidence(diagnosis)),
        element("footer", f"hccl-kit {text(__version__)} diagnose"),
    ]
    return page("hccl-kit diagnose", _STYLE, body)


def _answer(diagnosis: Diagnosis) -> Iterable[str]:
    for heading, value in lines(diagnosis):
        if value:
            is_fault = heading == FIRST_FAULT
            yield element("dt", translated(heading)) if heading else ""
            yield element("dd", text(translated(value)), **({"class_": "bad"} if is_fault else {}))


def _section(title: str, inner: str) -> list[str]:
    return [element("h2", translated(title)), element("div", inner, class_="scroll")] if inner else []


def _evidence(diagnosis: Diagnosis) -> str:
    """The places of the verdict, then every telling moment in the order of its time."""
    moments = [(moment, translated(rank_name(line.suspect))) for line in diagnosis.ranks for moment in line.moments]
    moments.sort(key=lambda pair: (pair[0][0] is None, pair[0][0] or 0, pair[0][2]))
    what = translated(Message("diagnosis.of-verdict", "evidence of the verdict"))
    rows = [_cells("", "", what, place_name(place)) for place in diagnosis.evidence]
    rows += [_cells(clock(time), who, translated(what), place_name(place)) for (time, what, place), who in moments]
    if not rows:
        return ""
    head = element("tr", *(element("th", translated(name)) for name in _COLUMNS))
    hidden = Message("diagnosis.more-lines", "{number} more lines are not shown.", number=len(rows) - MAX_PLACES)
    more = element("p", translated(hidden)) if len(rows) > MAX_PLACES else ""
    return element("table", head, *rows[:MAX_PLACES], id="evidence") + more


def _cells(time: str, who: str, what: str, where: str) -> str:
    return element(
        "tr", *(element("td", text(cell)) for cell in (time, who, what)), element("td", element("code", text(where)))
    )
