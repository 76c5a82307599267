import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.spares import Spare
from hccl_kit.launch.way import by_ssh


def test_an_address_that_is_an_option_is_refused() -> None:
    reach = by_ssh([], {"HCCL_KIT_SSH": "ssh -F file"}, ["User=me"])
    start, *_, last = reach(Spare("n1", "10.0.0.1", ""), ("env", "A=b c", "agent"))
    assert (start, last) == ("ssh", "env 'A=b c' agent")
    with pytest.raises(KitError, match="server n1 has no address for ssh: '-oProxyCommand=x' is not a valid address"):
        by_ssh([Spare("n1", "-oProxyCommand=x", "")], {})
