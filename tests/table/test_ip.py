from socket import AF_INET, AF_INET6, inet_pton

from hypothesis import example, given
from hypothesis import strategies as st

from hccl_kit.table.ip import Address, parse_address, prefix_length

TEXTS = st.one_of(
    st.ip_addresses().map(str),
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", fullmatch=True),
    st.from_regex(r"[0-9a-f]{0,4}(::?[0-9a-f]{0,4}){1,8}(:[0-9]{1,3}(\.[0-9]{1,3}){3})?", fullmatch=True),
    st.text(max_size=12),
)


def by_the_system(text: str) -> Address | None:
    version, family = (6, AF_INET6) if text.count(":") >= 2 else (4, AF_INET)
    try:
        return version, inet_pton(family, text), ""
    except (OSError, ValueError):
        return None


@given(TEXTS.filter(lambda text: "%" not in text))
@example("1.2.3.04")
@example("1.2.3.4.5")
@example("255.255.255.255")
@example("1.2.3.256")
@example("1.2.3.4 ")
@example("\u0661.2.3.4")
@example("1:2:3:4:5:6:7::")
@example("::ffff:1.2.3.4")
@example("::1.2.3.04")
def test_an_address_is_what_the_system_reads(text: str) -> None:
    assert parse_address(text) == by_the_system(text)


def test_parses_netmasks_as_printed_by_the_driver() -> None:
    for netmask, prefix in (
        ("255.255.255.0", 24),
        ("255.255.0.0", 16),
        ("24", 24),
        ("64", 64),
        ("128", 128),
        ("129", None),
        ("-.-.-.-", None),
        ("255.0.255.0", None),
        ("", None),
        ("٣", None),
        ("9" * 5000, None),
    ):
        assert prefix_length(netmask) == prefix, (netmask, prefix)
