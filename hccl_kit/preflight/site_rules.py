"""Rule HK672: what differs between machines, as a snapshot describes them, and the rules of their site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.installation import ABSENT
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.machine import PRODUCT, Machine, answer, this_machine
from hccl_kit.preflight.probes.cards import findings_on_cards
from hccl_kit.preflight.site import COUNT, Expected
from hccl_kit.preflight.system_settings import mount
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from hccl_kit.table.products import ANY_PRODUCT


def unlike_site(machine: Machine, expected: Expected) -> Iterator[Finding]:
    """A machine is not what the rules of the site expect.

    What:           a fact of this machine differs from the file that `site-rules` names: the number of cards, a reading
                    of each, a version, a variable, a setting of the system or a mount. The file says what is an error
                    and what a warning.
    Why it matters: the site decided so; hccl-kit cannot know which driver or mount its jobs need.
    Example:        versions: driver is "24.1.0"; site.yaml:4:26 accepts "25.2.0"
    Fix:            correct the machine; or the file, if the site has changed.
    HCCL:           no code.
    """
    if expected.group == "cards" and expected.name != COUNT:
        readings = {int(card): facts.get(expected.name) for card, facts in machine.cards.items() if card.isdecimal()}
        wrong = {
            card: _difference(expected, expected.name, text)
            for card, text in readings.items()
            if text not in expected.texts
        }
        yield from findings_on_cards(wrong)
    elif (text := _fact(machine, expected)) not in expected.texts:
        name = Message("HK672.name", "{group}: {name}", group=expected.group, name=expected.name)
        yield Finding(_difference(expected, name, text))


def findings_of(machine: Machine, site: Sequence[Expected]) -> list[Finding]:
    """What differs, each with the severity that the file gives it."""
    return [
        SITE_RULE.complete(finding, expected.severity)
        for expected in site
        for finding in unlike_site(machine, expected)
    ]


def judged(answer: Answer, job: PreflightJob, machine: Machine | str) -> Answer:
    """The answer with what the site expects of its machine; text says why that is not known."""
    report, product = answer.report, job.product.name
    if answer.error is not None:
        return answer
    if product == ANY_PRODUCT and isinstance(machine, Machine):
        product = machine.settings.get(PRODUCT, ANY_PRODUCT)
    if isinstance(machine, str) or product not in job.site:
        nothing = Message("HK672.no-product", "the site rules have no machines of product {name}", name=product)
        why = machine if isinstance(machine, str) else nothing
        return answer._replace(report=report._replace(skipped=(*report.skipped, (SITE_RULE.id, why))))
    findings = (*report.findings, *findings_of(machine, job.site[product]))
    return answer._replace(report=report._replace(findings=findings, checked=(*report.checked, SITE_RULE.id)))


def answer_here(job: PreflightJob, environ: Mapping[str, str], server: str | None) -> Answer:
    """The answer of this machine, which is called `server`, with what the site expects of it."""
    here = answer(job.node(environ, server))
    return judged(here, job, this_machine()) if job.site else here


def _fact(machine: Machine, expected: Expected) -> str | None:
    if expected.group == "cards":
        return str(len(machine.cards))
    if expected.group == "versions":
        return machine.versions.get(expected.name, ABSENT)
    if expected.group == "variables":
        return machine.variables.get(expected.name)
    return machine.settings.get(mount(expected.name) if expected.group == "mounts" else expected.name)


def _difference(expected: Expected, name: str, text: str | None) -> Message:
    place, accepted = expected.place, joined(map(shown, expected.texts), "or")
    if text is None:
        return Message(
            "HK672.absent", "{name} is absent; {place} accepts {accepted}", name=name, place=place, accepted=accepted
        )
    return Message(
        "HK672.difference",
        "{name} is {value}; {place} accepts {accepted}",
        name=name,
        value=shown(text),
        place=place,
        accepted=accepted,
    )


SITE_RULE: Rule[[Machine, Expected]] = Rule("HK672", "unlike-site-rules", unlike_site, severity="warning")
"""It runs if a setting names a file of site rules; the file says which findings are errors."""
