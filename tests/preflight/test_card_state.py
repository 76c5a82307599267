"""What a server answers about its cards, as it travels."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.discovery.hccn_answers import LinkHistory, Neighbour, Pinged
from hccl_kit.preflight.card_pings import Place
from hccl_kit.preflight.card_state import CardsAnswer, CardState, from_value, to_value

words = st.text(st.characters(codec="utf-8"), max_size=9)
counts = st.integers(0, 9999)
states = st.builds(
    CardState,
    link=st.sampled_from([None, "UP", "DOWN"]),
    speed=st.none() | words,
    history=st.none() | st.builds(LinkHistory, st.lists(counts, max_size=3).map(tuple), st.none() | counts),
    new_downs=counts,
    optics=st.none() | st.dictionaries(words, st.floats(-99, 99), max_size=3),
    neighbour=st.none() | st.builds(Neighbour, words, words, st.booleans()),
    counters=st.none() | st.dictionaries(words, counts, max_size=3),
    memory=st.none() | st.dictionaries(words, counts, max_size=3),
    clock=st.none() | st.dictionaries(words, counts, max_size=3),
    unread=st.dictionaries(words, words, max_size=3),
)
pinged = st.builds(Pinged, counts, counts, st.none() | st.floats(0, 99), st.none() | words)
places = st.builds(Place, words, counts)
answers = st.builds(
    CardsAnswer,
    st.dictionaries(counts, states, max_size=3),
    st.lists(st.tuples(counts, places, st.sampled_from(["RoCE", "HCCS"]), pinged), max_size=3),
    error=st.none(),
)


@given(answers)
def test_an_answer_round_trips(answer: CardsAnswer) -> None:
    assert from_value(json.loads(json.dumps(to_value(answer)))) == answer


@pytest.mark.parametrize(
    "value",
    [None, {}, {"cards": {"x": {}}, "pings": []}, {"cards": {}, "pings": [[0, "a", 0, "LAN", 3, 3, 0.1, None]]}],
)
def test_what_is_no_answer_is_refused(value: object) -> None:
    with pytest.raises(KitError, match="the answer does not match the schema: "):
        from_value(value)
