"""HK6: whether driver, firmware and CANN are installed and declare each other compatible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import installation, npu_smi
from hccl_kit.discovery.driver_tool import NoAnswerError, query_each
from hccl_kit.preflight.node import ATLAS_950, CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import findings_on_cards, here, info, need_npu, physical_ids, span
from hccl_kit.table.finding import Finding, finding

_ONE_RELEASE = Message("HK635.fix", "install driver and firmware of the same release")
_OTHER_NUMBERS = "a5"
"""Its releases have other numbers, so the lists of the others do not apply."""


def package_missing(node: Node) -> Iterator[Finding]:
    """The driver or CANN is missing or incompletely installed.

    What:           no version.info of the driver, no CANN at ASCEND_HOME_PATH or a usual place; or npu-smi itself
                    reports that the driver may not be completely installed.
    Why it matters: MindSpore and torch_npu load CANN at their start, and CANN reads the version of the driver.
    Example:        set_env.sh of CANN was not sourced, and CANN is in a home folder.
    Fix:            source .../set_env.sh in the script that starts the job; in a container, mount
                    /usr/local/Ascend/driver/version.info; reinstall the driver if npu-smi reports it.
    HCCL:           no code; the framework stops with "libascendcl.so: cannot open shared object file".
    """
    need_npu(node)
    if installation.driver(node.root) is None:
        yield finding(
            "HK634.no-driver-version",
            "the driver version cannot be read: there is no driver/version.info",
            fix="in a container: -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info",
        )
    if installation.cann(node.root, node.environ) is None:
        yield finding(
            "HK634.no-cann",
            "no CANN found at ASCEND_HOME_PATH or in /usr/local/Ascend",
            fix="source set_env.sh of CANN in the shell or script that starts the job",
        )
    try:
        doubts = info(node).is_incomplete
    except CannotTellError:  # reported by HK623 or HK624
        return
    if doubts:
        yield finding(
            "HK634.incomplete-driver",
            "npu-smi reports that the driver package may not be completely installed",
            fix="reinstall the driver, which writes Driver_Install_Status=complete into /etc/ascend_install.info",
        )


def firmware_unfit(node: Node) -> Iterator[Finding]:
    """Driver and firmware are not compatible.

    What:           npu-smi prints "Compatibility: NOK" for a card of the table; or, if it prints nothing, the firmware
                    is outside the ranges that the driver lists in its version.info.
    Why it matters: features between processes and cards fail, such as sharing memory between them.
    Example:        driver 24.1.rc2 supports firmware 7.0.0 to 7.2.99, and 7.3.0.1.231 is installed.
    Fix:            install driver and firmware of the same release, the driver first, and restart the server.
    HCCL:           no code of its own; the runtime says "driver and firmware packages do not match" (507899).
    """
    boards = boards_of_cards(node)
    refused = {
        card: Message(
            "HK635.not-compatible",
            "npu-smi reports driver {driver} and firmware {firmware} as not compatible",
            driver=_version(board, "Software"),
            firmware=_version(board, "Firmware"),
        )
        for card, board in boards.items()
        if board.get("Compatibility") == "NOK"
    }
    unfit = {**_odd_firmware(boards), **refused}
    if unfit:
        yield from findings_on_cards(unfit, _ONE_RELEASE)
    elif not any(board.get("Compatibility") == "OK" for board in boards.values()):
        yield from _by_ranges(node)


def cann_unfit(node: Node) -> Iterator[Finding]:
    """Driver and CANN do not declare each other compatible.

    What:           neither the list `compatible_version` of CANN has the release of the driver, nor that of the driver
                    the one of CANN. The newer of two packages knows the older, so one of the two lists is enough.
    Why it matters: a pair in neither list was not tested by its maker. It may still work.
    Example:        CANN 8.3.RC2 (V100R001C23) lists V100R001C15 to C23, and the driver is V100R001C13.
    Fix:            update the older of the two; the release notes of CANN name the drivers.
    HCCL:           no code of its own; EI0008 if servers differ.
    """
    need_npu(node)
    driver, cann = installation.driver(node.root), installation.cann(node.root, node.environ)
    if node.product.name == _OTHER_NUMBERS or node.table.version == ATLAS_950:
        raise CannotTellError("HK636.atlas-950", "releases of Atlas 950 have other numbers")
    if not (driver and cann and driver.release and cann.release and (driver.releases or cann.releases)):
        raise CannotTellError("HK636.nothing-declared", "driver and CANN do not declare compatible releases")
    if driver.release not in cann.releases and cann.release not in driver.releases:
        yield finding(
            "HK636.other-release",
            "driver {driver} ({driver_release}) and CANN {cann} ({cann_release}) do not declare each other compatible",
            fix="update the older of the two",
            driver=driver.version,
            driver_release=driver.release,
            cann=cann.version,
            cann_release=cann.release,
        )


def boards_of_cards(node: Node) -> Mapping[int, Mapping[str, str]]:
    """What `npu-smi info -t board` says for the cards of the table that are here; nothing if it prints nothing."""
    wanted = here(node)
    try:
        chips = info(node).chips
        ids = physical_ids(node, chips)
        tool = tools.need(node, tools.NPU_SMI)
    except CannotTellError:
        return {}

    def question(npu: int) -> Mapping[str, str]:
        rows = npu_smi.rows(node.tools.query(tool, "info", "-t", "board", "-i", str(npu)))
        if "Software Version" not in rows:
            raise NoAnswerError(Message("preflight.no-version", "no version"))
        return rows

    npus = sorted({npu for (npu, _), device_id in ids.items() if device_id in wanted})
    boards, _ = query_each(npus, question)
    return {ids[place]: boards[place[0]] for place in sorted(ids) if ids[place] in wanted and place[0] in boards}


def _by_ranges(node: Node) -> Iterator[Finding]:
    driver, firmware = installation.driver(node.root), installation.firmware(node.root)
    if driver is None or firmware is None or not driver.firmware:
        raise CannotTellError(
            "HK635.unknown", "neither npu-smi nor a version.info shows which firmware the driver supports"
        )
    if not any(installation.in_range(firmware.version, *ends) for ends in driver.firmware):
        yield finding(
            "HK635.outside-range",
            "driver {driver} supports firmware {ranges}, and {firmware} is installed",
            hint=_ONE_RELEASE,
            driver=driver.version,
            ranges=joined(span(*ends) for ends in driver.firmware),
            firmware=firmware.version,
        )


def _odd_firmware(boards: Mapping[int, Mapping[str, str]]) -> Mapping[int, str]:
    """The cards with another firmware than most."""
    versions = {device_id: _version(board, "Firmware") for device_id, board in boards.items()}
    known = {device_id: version for device_id, version in versions.items() if version not in ("", "NA")}
    if not known:
        return {}
    counted = list(known.values())
    usual = max(counted, key=counted.count)
    return {
        card: Message(
            "HK635.other-firmware",
            "its firmware is {version}, and {usual} on the other cards",
            version=version,
            usual=usual,
        )
        for card, version in known.items()
        if version != usual
    }


def _version(board: Mapping[str, str], what: str) -> str:
    return board.get(f"{what} Version", "")


RULES = (
    Rule("HK634", "missing-driver-or-cann", package_missing, severity="warning", needs_server=True),
    Rule("HK635", "firmware-mismatch", firmware_unfit, needs_server=True),
    Rule("HK636", "cann-mismatch", cann_unfit, severity="warning", needs_server=True),
)
