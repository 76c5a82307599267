"""HK6: whether driver, firmware and CANN are there and go together, as far as they say it themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.discovery import npu_smi_rows, packages
from hccl_kit.discovery.ask import NoAnswerError, ask_each
from hccl_kit.preflight.node import CannotTellError, Fault, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import folded, here, info, need_npu, physical_ids

_ONE_RELEASE = "install driver and firmware of one release"
_OTHER_NUMBERS = "a5"
"""Its releases are counted anew, so the lists of the others say nothing."""


def package_missing(node: Node) -> Iterator[Fault]:
    """The driver or CANN is not installed, or not wholly.

    What:           no version.info of the driver, no CANN where ASCEND_HOME_PATH says nor at a usual place; or npu-smi
                    itself says that the driver may not be completely installed.
    Why it matters: MindSpore and torch_npu load CANN at their start, and CANN reads the version of the driver.
    Example:        set_env.sh of CANN was not sourced, and it lies in a home folder.
    Fix:            source .../set_env.sh in the script that starts the job; in a container, mount
                    /usr/local/Ascend/driver/version.info; install the driver anew where npu-smi doubts it.
    HCCL:           no code; the framework stops with "libascendcl.so: cannot open shared object file".
    """
    need_npu(node)
    if packages.driver(node.root) is None:
        yield Fault(
            "no version of the driver is to be read: there is no driver/version.info",
            "in a container: -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info",
        )
    if packages.cann(node.root, node.environ) is None:
        yield Fault(
            "no CANN is found by ASCEND_HOME_PATH, nor in /usr/local/Ascend",
            "source set_env.sh of CANN in the shell or script that starts the job",
        )
    try:
        doubts = info(node).is_incomplete
    except CannotTellError:  # HK623 and HK624 tell why
        return
    if doubts:
        yield Fault(
            "npu-smi says that the driver package may not be completely installed",
            "install the driver anew; it then writes Driver_Install_Status=complete into /etc/ascend_install.info",
        )


def firmware_unfit(node: Node) -> Iterator[Fault]:
    """Driver and firmware do not go together.

    What:           npu-smi says "Compatibility: NOK" for a card of the table; or, where it says nothing, the firmware
                    is outside of the ranges that the driver lists in its version.info.
    Why it matters: features between processes and cards fail, such as sharing memory between them.
    Example:        driver 24.1.rc2 goes with firmware 7.0.0 to 7.2.99, and 7.3.0.1.231 is installed.
    Fix:            install driver and firmware of one release, the driver first, and restart the server.
    HCCL:           no code of its own; the runtime says "driver and firmware packages do not match" (507899).
    """
    boards = boards_of_cards(node)
    says = {
        device_id: f"npu-smi says that driver {_version(board, 'Software')} and firmware {_version(board, 'Firmware')} "
        "do not go together"
        for device_id, board in boards.items()
        if board.get("Compatibility") == "NOK"
    }
    says = {**_odd_firmware(boards), **says}
    if says:
        yield from folded(says, _ONE_RELEASE)
    elif not any(board.get("Compatibility") == "OK" for board in boards.values()):
        yield from _by_ranges(node)


def cann_unfit(node: Node) -> Iterator[Fault]:
    """Driver and CANN do not name each other as going together.

    What:           neither the list `compatible_version` of CANN has the release of the driver, nor that of the driver
                    the one of CANN. The newer of two packages knows the older, so one of the two lists is enough.
    Why it matters: what is in no list was not tried together by those who made it. Much may run nevertheless.
    Example:        CANN 8.3.RC2 (V100R001C23) lists V100R001C15 to C23, and the driver is V100R001C13.
    Fix:            update the older of the two; the release notes of CANN name the drivers.
    HCCL:           no code of its own; EI0008 where servers differ.
    """
    need_npu(node)
    driver, cann = packages.driver(node.root), packages.cann(node.root, node.environ)
    if node.product.name == _OTHER_NUMBERS or node.table.version == "2.0":
        raise CannotTellError("releases of Atlas 950 are counted otherwise")
    if not (driver and cann and driver.release and cann.release and (driver.releases or cann.releases)):
        raise CannotTellError("driver and CANN do not tell what they go with")
    if driver.release not in cann.releases and cann.release not in driver.releases:
        yield Fault(
            f"driver {driver.version} ({driver.release}) and CANN {cann.version} ({cann.release}) do not list each "
            "other as going together",
            "update the older of the two",
        )


def boards_of_cards(node: Node) -> Mapping[int, Mapping[str, str]]:
    """What `npu-smi info -t board` says for the cards of the table that are here; nothing where it says nothing."""
    wanted = here(node)
    try:
        chips = info(node).chips
        ids = physical_ids(node, chips)
        tool = tools.need(node, tools.NPU_SMI)
    except CannotTellError:
        return {}

    def question(npu: int) -> Mapping[str, str]:
        rows = npu_smi_rows.parse(node.tools.query(tool, "info", "-t", "board", "-i", str(npu)))
        if "Software Version" not in rows:
            raise NoAnswerError("no version")
        return rows

    npus = sorted({npu for (npu, _), device_id in ids.items() if device_id in wanted})
    boards, _ = ask_each(npus, question)
    return {ids[place]: boards[place[0]] for place in sorted(ids) if ids[place] in wanted and place[0] in boards}


def _by_ranges(node: Node) -> Iterator[Fault]:
    driver, firmware = packages.driver(node.root), packages.firmware(node.root)
    if driver is None or firmware is None or not driver.firmware:
        raise CannotTellError("neither npu-smi nor a version.info tells which firmware goes with the driver")
    if not any(packages.in_range(firmware.version, *ends) for ends in driver.firmware):
        listed = " and ".join(f"{least} to {most}" for least, most in driver.firmware)
        yield Fault(
            f"driver {driver.version} goes with firmware {listed}, and {firmware.version} is installed", _ONE_RELEASE
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
        device_id: f"its firmware is {version}, that of the others {usual}"
        for device_id, version in known.items()
        if version != usual
    }


def _version(board: Mapping[str, str], what: str) -> str:
    return board.get(f"{what} Version", "")
