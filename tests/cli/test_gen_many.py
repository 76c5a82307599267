"""hccl-gen for many servers, for super pods, and for Atlas 950, with fake programs on PATH."""

import json
from pathlib import Path
from typing import Any

from hccl_kit.check.engine import check_text
from hccl_kit.table.products import find_product
from tests.cli.test_gen import Desk, desk, refused

__all__ = ["desk"]


def inventory(desk: Desk, text: str) -> str:
    """An inventory with this text, outside the folder that is written to."""
    path = desk.work.parent / "inventory.yaml"
    path.write_text(text)
    return str(path)


def servers(count: int, cards: int = 8) -> str:
    """Servers as in an inventory; each card index has its own segment, like a plane."""
    return "".join(
        f"node{s:02}:\n" + "".join(f"  {i}: 10.{i % 4}.{i // 4}.{s}/16\n" for i in range(cards))
        for s in range(1, count + 1)
    )


def pods(count: int, per_pod: int = 2) -> str:
    """Servers of Atlas A3 with the super pod and SDIDs of their sixteen cards."""
    lines = []
    for s in range(count):
        lines += [f"node{s}:", f"  super_pod: pod-{s // per_pod}"]
        lines += [f"  {i}: {{ip: 10.{i}.0.{s + 1}, sdid: {s % per_pod << 22 | i}}}" for i in range(16)]
    return "\n".join(lines) + "\n"


def table(desk: Desk, name: str) -> Any:
    return json.loads((desk.work / name).read_text())


def ranks(value: Any) -> list[tuple[str, str, str]]:
    return [
        (device["rank_id"], server["server_id"], device["device_id"])
        for server in value["server_list"]
        for device in server["device"]
    ]


def test_hosts_of_an_inventory_are_one_table(desk: Desk) -> None:
    path = inventory(desk, servers(12))
    done = desk.gen("--device_num", "[4,8)", "--hosts", "node[10,02-03]", "--inventory", path)
    assert done.returncode == 0
    assert done.stderr.startswith("note: programs of torch would take cards 0, 1, 2, 3 of server ")
    assert desk.written() == ["ascend12p.sh", "hccl_3s_12p.json"]
    value = table(desk, "hccl_3s_12p.json")
    hosts = ("node10", "node02", "node03")
    assert ranks(value) == [(str(4 * s + c), host, str(4 + c)) for s, host in enumerate(hosts) for c in range(4)]
    assert value["server_list"][1]["device"][0]["device_ip"] == "10.0.1.2"
    assert (value["version"], value["server_count"], value["status"]) == ("1.0", "3", "completed")
    assert done.stdout.splitlines()[:4] == [
        "product: Atlas 800-9000/9010 (910A), the default (--product names another)",
        "servers: 3, from --hosts",
        f"addresses: inventory {path}",
        "wrote: hccl_3s_12p.json",
    ]
    assert done.stdout.splitlines()[4:] == [
        "wrote: ascend12p.sh",
        "next: hccl-kit run hccl_3s_12p.json --ssh -- COMMAND",
        "  or: copy hccl_3s_12p.json and ascend12p.sh to one path on every server, then there: bash ascend12p.sh"
        " COMMAND",
    ]
    assert not desk.asked()
    assert check_text((desk.work / "hccl_3s_12p.json").read_bytes(), "t.json", find_product("910")).ok


def test_all_servers_of_the_inventory(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,8)", "--hosts", "all", "--inventory", inventory(desk, servers(3)))
    assert (done.returncode, desk.written()) == (0, ["ascend24p.sh", "hccl_3s_24p.json"])
    assert [server["server_id"] for server in table(desk, "hccl_3s_24p.json")["server_list"]] == [
        "node01",
        "node02",
        "node03",
    ]


def test_one_host_has_its_script(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,8)", "--hosts", "node01", "--inventory", inventory(desk, servers(3)))
    assert (done.returncode, desk.written()) == (0, ["ascend8p.sh", "hccl_8p_01234567_node01.json"])


def test_host_address_of_the_inventory_goes_into_the_table(desk: Desk) -> None:
    path = inventory(desk, "a: {host_ip: 10.9.0.1, 0: 10.0.0.1}\nb: {host_ip: 10.9.0.2, 0: 10.0.0.2}\n")
    assert desk.gen("--device_num", "0", "--hosts", "a,b", "--inventory", path).returncode == 0
    listed = table(desk, "hccl_2s_2p.json")["server_list"]
    assert [server["host_ip"] for server in listed] == ["10.9.0.1", "10.9.0.2"]


def test_many_servers_can_be_simulated(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,8)", "--hosts", "node[0001-8192]", "--simulate", tool=False)
    assert (done.returncode, done.stderr, desk.written()) == (0, "", ["ascend65536p.sh", "hccl_8192s_65536p.json"])
    assert "reserved for benchmarks; no card was queried" in done.stdout
    assert check_text((desk.work / "hccl_8192s_65536p.json").read_bytes(), "t.json", find_product("910")).ok


def test_a_file_in_place_of_names_is_refused_with_the_command_that_lists_its_names(desk: Desk) -> None:
    (desk.work / "my hosts").write_text("node1\nnode2\n")
    done = desk.gen("--device_num", "[0,8)", "--hosts", "my hosts", "--simulate")
    assert (done.returncode, desk.written()) == (2, ["my hosts"])
    assert "--hosts: 'my hosts' is a file; accepted: names of servers" in done.stderr
    assert """--hosts "$(paste -sd, 'my hosts')" takes one name from each line""" in done.stderr


def test_invalid_usage_is_one_error(desk: Desk) -> None:
    for arguments, message in (
        (("--hosts", "node[01-02]"), "--hosts names servers, but not where the addresses of their cards come from"),
        (("--hosts", "a", "--server_ip", "b", "--simulate"), "--hosts and --server_ip are mutually exclusive"),
        (("--hosts", "a[1-", "--simulate"), "--hosts: the bracket is not closed"),
        (("--hosts", "a,b,a", "--simulate"), "--hosts: a listed twice"),
        (("--hosts", "10.0.0.1,10.0.0", "--simulate"), "'10.0.0' is not a valid IPv4 address"),
        (("--hosts", "a/b,c", "--simulate"), "--hosts: 'a/b' is not an address or a host name"),
        (("--hosts", "10.0.0.1,127.0.0.1", "--simulate"), "HK209"),
        (("--hosts", "a[1-70000]", "--simulate"), "more than 65536 hosts"),
        (("--hosts", "a", "--mpi"), "not allowed with argument"),
        (("--mpi", "--simulate"), "--mpi and --simulate are mutually exclusive"),
        (("--hosts", "a,b", "--simulate", "--"), "no command follows --"),
        (("--hosts", "a,b", "--simulate", "--table-version", "1.2"), "reads rank tables of version 1.0, not 1.2"),
        (("--simulate", "--table-version", "3"), "invalid choice: '3'"),
        (("--hosts", "a", "--simulate", "--product", "a5"), "which contain the local id of every card"),
        (("--product", "a5"), "no tool of the driver prints them"),
    ):
        assert message in refused(desk.gen("--device_num", "[0,8)", *arguments), desk), arguments
        assert not desk.asked(), arguments


def test_all_servers_missing_from_the_inventory_are_named(desk: Desk) -> None:
    path = inventory(desk, servers(2))
    text = refused(desk.gen("--device_num", "[0,8)", "--hosts", "node[01-05]", "--inventory", path), desk)
    assert "has no server node03, node04, node05; it has: node01, node02" in text


def test_cards_are_checked_for_a_cluster(desk: Desk) -> None:
    text = refused(desk.gen("--device_num", "[0,8]", "--hosts", "a[1-2]", "--simulate"), desk)
    assert '  fix: did you mean "[0,8)"?' in text
    text = refused(desk.gen("--device_num", "[0,9)", "--hosts", "a[1-2]", "--simulate", "--product", "a2"), desk)
    assert text.startswith("error: HK401")
    done = desk.gen("--device_num", "[0,9)", "--hosts", "a", "--simulate", "--product", "a2")
    assert done.returncode == 0, done.stderr


def test_segments_are_checked_if_the_inventory_has_netmasks(desk: Desk) -> None:
    lost = servers(2).replace("10.3.0.2/16", "10.9.0.2/16")
    arguments = ("--device_num", "[0,8)", "--hosts", "all", "--inventory")
    done = desk.gen(*arguments, inventory(desk, lost))
    assert done.returncode == 0
    assert done.stderr.startswith("warning: HK3")
    assert "10.9.0.0/16" in done.stderr
    done = desk.gen(*arguments, inventory(desk, lost.replace("/16", "")))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_inventory_provides_the_super_pods_of_a3(desk: Desk) -> None:
    path = inventory(desk, pods(4))
    done = desk.gen("--device_num", "[0,16)", "--hosts", "all", "--inventory", path, "--product", "a3")
    assert (done.returncode, done.stderr, desk.written()) == (0, "", ["ascend64p.sh", "hccl_4s_64p.json"])
    value = table(desk, "hccl_4s_64p.json")
    assert value["version"] == "1.2"
    assert value["server_list"][1]["device"][2]["super_device_id"] == str(1 << 22 | 2)
    assert value["super_pod_list"] == [
        {"super_pod_id": f"pod-{pod}", "server_list": [{"server_id": f"node{2 * pod + s}"} for s in range(2)]}
        for pod in range(2)
    ]
    assert check_text((desk.work / "hccl_4s_64p.json").read_bytes(), "t.json").ok


def test_a3_as_plain_servers(desk: Desk) -> None:
    arguments = ("--device_num", "[0,16)", "--hosts", "all", "--inventory", inventory(desk, pods(2)))
    done = desk.gen(*arguments, "--product", "a3", "--table-version", "1.0")
    assert (done.returncode, done.stderr) == (0, "")
    value = table(desk, "hccl_2s_32p.json")
    assert (value["version"], "super_pod_list" in value) == ("1.0", False)
    assert "super_device_id" not in value["server_list"][0]["device"][0]


def test_a3_without_known_sdids_gives_plain_servers_and_a_note(desk: Desk) -> None:
    done = desk.gen("--device_num", "[0,16)", "--hosts", "a[1-2]", "--simulate", "--product", "a3")
    assert done.returncode == 0
    assert done.stderr.startswith("note: super pod and SDID are unknown")
    assert table(desk, "hccl_2s_32p.json")["version"] == "1.0"
    text = desk.gen(
        *("--device_num", "[0,16)", "--hosts", "a[1-2]", "--simulate", "--product", "a3", "--table-version", "1.2")
    ).stderr
    assert "a1: its super pod\n    a2: its super pod\n    a1, card 0: its SDID" in text
    assert text.count("\n    a") == 17
    assert "and 18 more" in text


def test_super_pods_known_for_only_some_servers_are_refused(desk: Desk) -> None:
    path = inventory(desk, pods(2).replace("super_pod: pod-0", "host_ip: 10.9.0.1", 1))
    text = refused(desk.gen("--device_num", "[0,16)", "--hosts", "all", "--inventory", path, "--product", "a3"), desk)
    assert "unknown:\n    node0: its super pod\n" in text


def a3_server(desk: Desk) -> dict[str, str]:
    """The environment of a fake npu-smi that knows sixteen chips."""
    for device in range(16):
        desk.set_address(device, f"10.{device}.0.1")
        rows = f"SDID : {1 << 22 | device}\nSuper Pod Size : 384\nSuper Pod ID : 3\nServer Index : 1\n"
        (desk.cards / f"spod.{device // 2}.{device % 2}").write_text(rows)
    return {"FAKE_NPU_SMI": str(desk.cards)}


def test_npu_smi_gives_the_super_pod_of_this_server(desk: Desk) -> None:
    variables = a3_server(desk)
    arguments = ("--device_num", "[0,16)", "--server_ip", "a", "--product", "a3")
    done = desk.gen(*arguments, variables=variables)
    assert (done.returncode, done.stderr) == (0, "")
    name = "hccl_16p_0123456789101112131415_a.json"
    assert desk.written() == ["ascend16p.sh", name]
    value = table(desk, name)
    assert (value["version"], value["super_pod_list"][0]["super_pod_id"]) == ("1.2", "3")
    assert value["server_list"][0]["device"][5]["super_device_id"] == str(1 << 22 | 5)
    plain = desk.gen(*arguments, "--table-version", "1.0", "--force")
    assert (plain.returncode, table(desk, name)["version"]) == (0, "1.0")


def test_card_that_npu_smi_does_not_know_is_refused(desk: Desk) -> None:
    variables = a3_server(desk)
    (desk.cards / "spod.1.1").unlink()
    text = refused(desk.gen("--device_num", "[0,16)", "--server_ip", "a", "--product", "a3", variables=variables), desk)
    assert "card 3: This device does not support querying spod-info." in text
    assert "--table-version 1.0" in text


def test_cards_without_roce_address_connect_inside_the_super_pod(desk: Desk) -> None:
    variables = a3_server(desk)
    (desk.cards / "ipv4.9").unlink()
    (desk.cards / "vnic.9").write_text("vnic link status: UP\nvnic ipaddr: 192.1.3.190\nvnic netmask: 255.0.0.0\n")
    done = desk.gen("--device_num", "[0,16)", "--server_ip", "a", "--product", "a3", variables=variables)
    assert done.returncode == 0
    assert done.stderr.startswith("note: card 9 of a has no RoCE address; its vNIC address is used")


CARD = """\
  {i}:
    local_id: {i}
    level_list:
    - net_layer: 0
      net_instance_id: srv{s}
      net_type: TOPO_FILE_DESC
      rank_addr_list: [{{addr_type: EID, addr: 000000000000002000100000dfdf{s}{i:03}, ports: [0/1], plane_id: 0}}]
    - net_layer: 1
      net_instance_id: all
      rank_addr_list: [{{addr_type: IPV4, addr: 10.{s}.0.{i}, ports: [0/4, 1/4]}}]
"""


def test_the_inventory_provides_the_networks_of_a5(desk: Desk) -> None:
    text = "".join(f"srv{s}:\n" + "".join(CARD.format(s=s, i=i) for i in range(4)) for s in range(2))
    arguments = ("--device_num", "[0,4)", "--hosts", "all", "--inventory", inventory(desk, text), "--product", "a5")
    done = desk.gen(*arguments)
    assert (done.returncode, done.stderr, desk.written()) == (0, "", ["ascend8p.sh", "hccl_2s_8p.json"])
    value = table(desk, "hccl_2s_8p.json")
    assert (value["version"], value["rank_count"]) == ("2.0", 8)
    assert [(rank["rank_id"], rank["local_id"]) for rank in value["rank_list"]] == [(r, r % 4) for r in range(8)]
    inner, outer = value["rank_list"][5]["level_list"]
    assert (inner["net_layer"], inner["net_instance_id"], outer["net_instance_id"]) == (0, "srv1", "all")
    assert inner["rank_addr_list"][0]["addr"] == "000000000000002000100000dfdf1001"
    assert outer["rank_addr_list"][0]["ports"] == ["0/4", "1/4"]


def test_cards_of_a5_without_networks_are_named(desk: Desk) -> None:
    path = inventory(desk, servers(2))
    text = refused(desk.gen("--device_num", "[0,2)", "--hosts", "all", "--inventory", path, "--product", "a5"), desk)
    assert "unknown:\n    node01, card 0\n    node01, card 1\n    node02, card 0\n" in text


def test_an_inventory_of_the_maximum_size_is_fast(desk: Desk) -> None:
    lines = []
    for s in range(8192):
        lines += [f"node{s:04}:", *(f"  {i}: {10 + i}.{s >> 8}.{s & 255}.1" for i in range(8))]
    done = desk.gen("--device_num", "[0,8)", "--hosts", "all", "--inventory", inventory(desk, "\n".join(lines)))
    assert (done.returncode, desk.written()) == (0, ["ascend65536p.sh", "hccl_8192s_65536p.json"])


def test_a_relative_inventory_path_is_shown_as_given(desk: Desk) -> None:
    path = Path(inventory(desk, servers(2)))
    done = desk.gen("--device_num", "[0,8)", "--hosts", "all", "--inventory", f"../{path.name}")
    assert f"addresses: inventory ../{path.name}" in done.stdout
