"""The values of the options of all launchers: what is accepted, and what is refused before a file is written."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import LAUNCHERS, emit
from hccl_kit.launch.emitters.options import NUMBERED, SLURM, VLLM
from tests.launch.ways import planned, servers

OF_LAUNCHER = {"slurm": SLURM, "jobset": NUMBERED, "vllm": VLLM}
FORMS = {
    (launcher, option.name): option for launcher, options in OF_LAUNCHER.items() for option in options if option.form
}
HOSTILE = (
    *("", " ", "-x", "a b", "a\n#SBATCH --nodes=9", "a\nb: c", "8\n", "a\r", '"', "'", "\\", "$(id)", "a;b", "8\0"),
    *("８", "训", "é"),
)
BESIDE: dict[str, dict[str, Any]] = {
    "container_mounts": {"container_image": "x"},
    "kueue_topology": {"kueue_queue": "a"},
}
"""The options that another one needs."""
ACCEPTED = {
    "job_name": ("a", "crnn-2.b_1+x"),
    "partition": ("npu", "npu,cpu-2"),
    "time": ("5", "5:00", "12:00:00", "2-0", "2-12:30", "2-12:30:59", "UNLIMITED"),
    "gres": ("npu:8", "npu:910b:8", "npu:8,tmp:2", "npu"),
    "nodelist": ("n1", "rack1-n07", "n[7]"),
    "switches": ("1", "2@12:00:00", "1@5"),
    "signal": ("B:USR2@120", "TERM@60", "USR1@1"),
    "array": ("0", "0-9", "0-9:3", "1,3,5-7", "0-9%1"),
    "max_restarts": ("0", "1000"),
    "mpi": ("pmix", "pmix_v4", "pmi2"),
    "container_image": ("registry.example.org#train:1", "/images/train.sqsh"),
    "apptainer_image": ("images/train.sif", "docker://train:1"),
    "container_mounts": ("/data:/data:ro", "/a:/b,/home:/home:rw"),
    "name": ("a", "train-1"),
    "image": ("registry.example.org:5000/team/train:1.2@sha256-x",),
    "namespace": ("default",),
    "cpus": ("64", "1.5", "3500m"),
    "memory": ("512Gi", "1T"),
    "resource": ("huawei.com/Ascend910B4",),
    "kueue_queue": ("team-a", "0.a"),
    "kueue_topology": ("required=a.b/c.d_e", "preferred=rack", "unconstrained"),
    "table_map": ("rings-config-train",),
    "tensor_parallel_size": ("1",),
    "nic": ("eth0", "bond0.12"),
}
REFUSED = {
    "max_restarts": ("-1", "1001", "01234", "1e1", "three"),
    "name": ("Train", "1a", "a-", "a.b", "a" * 64),
    "namespace": ("my_space",),
    "cpus": ("0", "all"),
    "memory": ("512", "512GB"),
    "resource": ("npu", "huawei.com/", "huawei..com/a", "x/" + "a" * 64, "a/b/c"),
    "kueue_queue": ("Team", "a" * 64, "-a", "a..b"),
    "kueue_topology": ("hccl-kit/super-pod", "required=", "preferred=" + "a" * 317),
    "table_map": ("a.-b", "a/b"),
    "container_mounts": ("a:/b:rx",),
    "tensor_parallel_size": ("0", "1e1"),
    "nic": ("n" * 16,),
}


def emitted(launcher: str, **options: Any) -> str:
    command = ("vllm", "serve", "m") if launcher == "vllm" else ("true",)
    image = {"image": "x"} if LAUNCHERS[launcher].runs_pods else {}
    made = emit(launcher, *planned(servers((4,), ids=("127.0.0.1",)), *command), **{**image, **options})
    return made[0].text


@pytest.mark.parametrize(("launcher", "name"), FORMS)
def test_every_form_accepts_what_the_reader_of_the_value_does_and_nothing_else(launcher: str, name: str) -> None:
    for value in ACCEPTED[name]:
        emitted(launcher, **{**BESIDE.get(name, {}), name: value})
    for value in (*HOSTILE, *REFUSED.get(name, ())):
        with pytest.raises(KitError, match=f"^{FORMS[launcher, name].flag} is .*; accepted: .") as caught:
            emitted(launcher, **{**BESIDE.get(name, {}), name: value})
        assert "\n" not in caught.value.message


def test_a_refusal_says_what_is_accepted() -> None:
    for launcher, options, message in (
        ("slurm", {"array": "0-9x"}, '--array is "0-9x"; accepted: submit a job array, such as 0-9%1'),
        ("slurm", {"max_restarts": "1001"}, '--max-restarts is "1001"; accepted: 0 to 1000'),
        ("jobset", {"image": "a b"}, '--image is "a b"; accepted: REGISTRY/NAME:TAG'),
        ("jobset", {"kueue_queue": "Team"}, '--kueue-queue is "Team"; accepted: at most 63 lower-case letters, digits'),
    ):
        with pytest.raises(KitError, match=re.escape(message)):
            emitted(launcher, **options)


@given(st.sampled_from([option.name for option in SLURM if option.name in (*ACCEPTED,)][:7]), st.text(max_size=30))
def test_a_directive_stays_one_line_and_one_word(name: str, value: str) -> None:
    try:
        text = emitted("slurm", **{name: value})
    except KitError:
        return
    (line,) = [line for line in text.splitlines() if line.startswith("#SBATCH")][4:]
    word, given_value = line.split()
    assert (word, given_value.partition("=")[0]) == ("#SBATCH", f"--{name.replace('_', '-')}")
    assert not set(line) & set("\"'\\$`")
