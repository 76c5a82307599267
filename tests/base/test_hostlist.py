import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.hostlist import MAX_HOSTS, expand, fold

NAMES = st.lists(
    st.one_of(
        st.from_regex(r"(node|n-|rack1-)?[0-9]{1,3}(\.lab)?", fullmatch=True),
        st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="[],"), min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=30,
).map(tuple)


@given(NAMES)
def test_expand_undoes_fold(names: tuple[str, ...]) -> None:
    assert expand(fold(names)) == names


@given(st.integers(0, 999), st.integers(1, 5), st.integers(2, 2000))
def test_a_run_of_numbers_folds_into_one_range(first: int, digits: int, count: int) -> None:
    names = tuple(f"node{number:0{digits}}" for number in range(first, first + count))
    assert fold(names) == f"node[{first:0{digits}}-{first + count - 1:0{digits}}]"


@given(st.text(alphabet="a1,-[] ", max_size=12))
def test_expand_returns_names_or_a_parse_error_for_any_text(text: str) -> None:
    try:
        names = expand(text)
    except ParseError as error:
        assert 0 <= error.column <= len(text)
    else:
        assert expand(fold(names)) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", "node1"),
        ("node[01-04,7]", "node01 node02 node03 node04 node7"),
        ("a,b[1-2],c", "a b1 b2 c"),
        ("rack[1-2]-node[8-10]", "rack1-node8 rack1-node9 rack1-node10 rack2-node8 rack2-node9 rack2-node10"),
        ("[1-3]", "1 2 3"),
        ("n[098-101]x", "n098x n099x n100x n101x"),
        ("10.0.0.[9-10]", "10.0.0.9 10.0.0.10"),
        ("fd00::[1-2]", "fd00::1 fd00::2"),
        ("a,a", "a a"),
        ("节点[1-2]", "节点1 节点2"),
    ],
)
def test_expands_the_host_lists_of_slurm(text: str, names: str) -> None:
    assert expand(text) == tuple(names.split())


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("node01 node02 node03 node04 node7", "node[01-04,7]"),
        ("node9 node10 node11", "node[9-11]"),
        ("node09 node10 node8", "node[09-10,8]"),
        ("a b", "a,b"),
        ("n1.lab n2.lab n3", "n[1-2].lab,n3"),
        ("n2 n1", "n[2,1]"),
    ],
)
def test_folds_to_the_shortest_list(names: str, text: str) -> None:
    assert fold(tuple(names.split())) == text


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "the host list is empty"),
        ("a,", 2, "a name is missing at the end"),
        ("a,,b", 2, "a name is missing before ','"),
        ("a, b", 2, "' ' is not allowed here"),
        ("a]", 1, "']' is not allowed here"),
        ("a[1-2", 1, "the bracket is not closed"),
        ("a[]", 2, "found nothing"),
        ("a[1,,2]", 4, "found nothing"),
        ("a[1,x]", 4, "found 'x'"),
        ("a[1-2-3]", 2, "found '1-2-3'"),
        ("a[[1]]", 2, r"found '\[1'"),
        ("a[٣]", 2, "found '٣'"),
        ("b,a[4,5-1]", 6, "5-1 runs backwards"),
        ("a[01-4]", 2, "different numbers of leading zeros"),
        ("a[1-010]", 2, "different numbers of leading zeros"),
        ("b,a[0-99999999999999]", 2, "more than 65536 hosts"),
        ("a[0-255][0-256]", 0, "more than 65536 hosts"),
        ("x" * 256, 0, "longer than 255"),
        ("a[" + "9" * 5000 + "]", 2, "5000 digits"),
    ],
)
def test_an_error_points_at_the_column(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        expand(text)
    assert caught.value.column == column


def test_accepts_at_most_65536_hosts() -> None:
    assert len(expand("a[0-255]-[0-255]")) == MAX_HOSTS
    with pytest.raises(ParseError, match="more than 65536"):
        expand("a[0-65535],b")


def test_a_typo_gets_a_suggestion() -> None:
    with pytest.raises(ParseError) as caught:
        expand("node[01-4]")
    assert caught.value.hint == 'did you mean "01-04"?'


@pytest.mark.parametrize("names", [(), ("",), ("a,b",), ("a b",), ("a[1]",), ("x" * 256,)])
def test_fold_refuses_names_that_a_host_list_cannot_express(names: tuple[str, ...]) -> None:
    with pytest.raises(KitError):
        fold(names)
