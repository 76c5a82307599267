"""Which cores a rank gets."""

from hccl_kit.agent.binding import CORES, NUMA, Binding, as_list, binding
from hccl_kit.agent.machine import Machine


def cores(first: int, last: int) -> frozenset[int]:
    return frozenset(range(first, last + 1))


def machine(
    *,
    nodes: int = 4,
    allowed: frozenset[int] = cores(0, 63),
    cards: int = 8,
    near: dict[int, frozenset[int]] | None = None,
    threads: int = 1,
) -> Machine:
    """64 cores, in nodes of equal size; with 2 threads, core 32 is the second thread of core 0."""
    size = 64 // nodes
    parts = (cores(at * size, at * size + size - 1) & allowed for at in range(nodes))
    siblings = {core: frozenset({core % 32, core % 32 + 32}) if threads == 2 else frozenset({core}) for core in allowed}
    return Machine(allowed, tuple(part for part in parts if part), siblings, frozenset(range(cards)), near or {})


def lists(result: Binding) -> dict[int, str]:
    return {card: as_list(part) for card, part in result.cores.items()}


REVERSED = {card: cores(48 - card // 2 * 16, 63 - card // 2 * 16) for card in range(8)}
"""As on some servers: card 0 is near the last node."""


def test_ranks_run_near_their_cards_by_npu_smi() -> None:
    result = binding(NUMA, [0, 1, 7], machine(near=REVERSED))
    assert lists(result) == {0: "48-63", 1: "48-63", 7: "0-15"}
    assert result.text == "cores 48-63 48-63 0-15 (near the cards, by npu-smi)"


def test_a_share_is_that_of_the_card_whatever_cards_the_job_has() -> None:
    whole = binding(CORES, range(8), machine(near=REVERSED))
    assert lists(whole) == {
        0: "48-55", 1: "56-63", 2: "32-39", 3: "40-47", 4: "16-23", 5: "24-31", 6: "0-7", 7: "8-15"
    }  # fmt: skip
    assert binding(CORES, [5], machine(near=REVERSED)).cores == {5: whole.cores[5]}


def test_where_npu_smi_names_no_cores_the_nodes_are_divided_among_the_cards_in_dev() -> None:
    assert lists(binding(NUMA, [2, 5], machine())) == {2: "16-31", 5: "32-47"}
    assert lists(binding(CORES, [2, 5], machine())) == {2: "16-23", 5: "40-47"}
    assert lists(binding(NUMA, [0, 1], machine(cards=2))) == {0: "0-31", 1: "32-63"}
    incomplete = binding(NUMA, [2, 5], machine(near={2: cores(0, 15)}))
    assert incomplete == binding(NUMA, [2, 5], machine())
    assert "divided evenly among 8 cards" in incomplete.text


def test_no_rank_gets_a_core_that_this_process_may_not_use() -> None:
    few = machine(near=REVERSED, allowed=cores(0, 51))
    assert lists(binding(NUMA, [0, 2], few)) == {0: "48-51", 2: "32-47"}
    none = binding(CORES, [0, 2], machine(near=REVERSED, allowed=cores(0, 47)))
    assert lists(none) == {2: "32-39"}
    assert none.text.startswith("cores any 32-39 (")
    assert "card 0: this process may use no core near it" in none.text


def test_two_threads_of_a_core_go_to_one_rank() -> None:
    result = binding(CORES, range(4), machine(nodes=1, cards=4, threads=2))
    assert lists(result) == {0: "0-7,32-39", 1: "8-15,40-47", 2: "16-23,48-55", 3: "24-31,56-63"}


def test_on_one_node_numa_changes_nothing_and_says_so() -> None:
    result = binding(NUMA, [0, 1], machine(nodes=1))
    assert (result.cores, result.text) == ({}, "not bound: this server has one NUMA node")


def test_more_cards_than_cores_share_them_and_that_is_said() -> None:
    result = binding(CORES, [0, 1], machine(nodes=1, allowed=cores(0, 2)))
    assert lists(result) == {0: "0-2", 1: "0-2"}
    assert "shared: fewer cores than cards" in result.text


def test_shares_never_overlap_and_leave_no_core_over() -> None:
    for nodes in (1, 2, 4, 8):
        for cards in range(1, 17):
            for threads in (1, 2):
                shares = binding(CORES, range(cards), machine(nodes=nodes, cards=cards, threads=threads)).cores
                dealt = [core for share in shares.values() for core in share]
                assert sorted(dealt) == sorted(set(dealt)), (nodes, cards, threads)
                assert len(dealt) == 64 or cards < nodes or cards % nodes, (nodes, cards, threads)
