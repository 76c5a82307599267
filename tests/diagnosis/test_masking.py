"""Laws of the mask: no secret is left, what is masked twice is masked once, and what a reader needs stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.masking import Masker
from hccl_kit.diagnosis.report.html import as_html
from hccl_kit.diagnosis.report.json_form import as_json
from hccl_kit.diagnosis.report.masked import masked
from hccl_kit.diagnosis.report.text import as_text
from tests.diagnosis.report.diagnoses import port_taken
from tests.diagnosis.test_environment import shown

SECRETS = {
    "ip-10-0-3-17": "cannot reach {}",
    "ip-10-0-3-18.eu-west-1.compute.internal": "{}: connection refused",
    "node18": "srun: error: {}: task 3: Killed",
    "aic-node07": "worker on {} is gone",
    "compute[01-16]": "allocated {}",
    "gpu12.cs.stateu.edu": "ssh: connect to host {} port 22",
    "login.ac.uk": "from {}",
    "trainbox": "Host key of trainbox:22, {}",
    "10.0.0.7": "bind {}:6000",
    "8.8.100.1": "to {}",
    "fd00::17": "[{}]:1",
    "00:1b:44:11:3a:b7": "link {} down",
    "00-1b-44-11-3a-b8": "link {} down",
    "001b.4411.3ab9": "link {} down",
    "alice": "/home/{}/ascend/log/debug/plog/plog-1_2.log",
    "dave": "cannot open /Users/{}/x",
    "erin": "scp {}@store:/x",
    "carols-project": "/data/{}/run/rank_0.log is missing",
    "hunter2": "login with password={}",
    "hunter3": "password for bob: {}",
    "hunter 4": 'passwd: "{}"',
    "hunter5": "https://bob:{}@example.org/x",
    "hunter6": "mysql --password {} -h db",
    "hunter7": "{{'api_key': '{}'}}",
    "hunter8.abc": "Authorization: Bearer {}",
    "hunter9": "MY_SECRET_TOKEN={} python train.py",
    "hf_abcdefghijklmnop": "using {}",
    "sk-abcdefghijklmnop": "401 for {}",
    "ghp_abcdefghijklmnopqrst": "clone with {}",
}
"""Each with a sentence that it may stand in."""

KEPT = (
    "CANN 8.5.0, driver 24.1.rc3, torch 2.1.0.post3, Python 3.11.7",
    "version 8.2.0.1 of the toolkit",
    "EI0006 errNo[0x0000000005000009] ret 4",
    'File "/data/model.py", line 3: torch.distributed.elastic, mindspore.nn.net',
    "self.net(x), threading.local, np.random",
    "rank 3, card 5, node 2 of 4, server 0, worker-0, device-3, plog-4711_20251120213751000.log",
    "2025-11-20-21:37:51.123.456 and 21:37:51",
    "set HCCL_IF_BASE_PORT=60000 and/or HCCL_NPU_SOCKET_PORT_RANGE=auto, TCP/IP",
    "max_tokens=4096, tokenizer: fast, 5 tokens",
    "localhost, 127.0.0.1:6000, 0.0.0.0",
    "see https://www.hiascend.com/document and `hccl-kit explain EI0006`",
    "/usr/local/Ascend/ascend-toolkit/latest/lib64/libhccl.so",
    "password is wrong, token: none",
)


def learned(*texts: str) -> Masker:
    mask = Masker(["trainbox"], ["bob"])
    mask.learn(texts)
    return mask


@given(st.permutations(sorted(SECRETS)), st.sampled_from([" ", "; ", "\n", ", "]), st.sampled_from(KEPT))
def test_no_secret_is_left_anywhere_and_masking_twice_changes_nothing(order: list[str], glue: str, kept: str) -> None:
    text = glue.join([*(SECRETS[secret].format(secret) for secret in order), kept])
    mask = learned(text)
    once = mask.text(text)
    assert [secret for secret in SECRETS if secret in once] == []
    assert mask.text(once) == once
    assert learned(once).text(once) == once


@pytest.mark.parametrize("text", KEPT)
def test_what_a_reader_needs_stays(text: str) -> None:
    assert learned(text).text(text) == text


def test_equal_names_have_equal_marks_in_all_spellings() -> None:
    texts = [
        "ssh erin@node18, node18 is down, and so is node19: /home/erin/run/log.txt",
        "00:1b:44:11:3a:b7 is 001b.4411.3ab7 and 00-1B-44-11-3A-B7",
        "erin started node18.lab.example.edu",
    ]
    mask = learned(*texts)
    assert [mask.text(text) for text in texts] == [
        "ssh <user 1>@<host 1>, <host 1> is down, and so is <host 2>: /home/<user 1>/run/log.txt",
        "<address 1> is <address 1> and <address 1>",
        "<user 1> started <host 3>",
    ]


@pytest.mark.parametrize("secret", SECRETS)
def test_every_form_of_a_masked_diagnosis_and_of_the_environment_is_free_of_it(secret: str) -> None:
    sentence = SECRETS[secret].format(secret)
    plain = port_taken()
    fault = plain.first_fault
    assert fault
    told = plain._replace(
        first_fault=fault._replace(kind=sentence),
        reason=sentence,
        fix=sentence,
        supports=(sentence,),
        contradicts=(sentence,),
        notes=(sentence,),
        ranks=tuple(line._replace(moments=((1.0, sentence, plain.evidence[0]),)) for line in plain.ranks[:1]),
    )
    hidden = masked(told, ["trainbox"], ["bob"])
    assert secret not in as_text(hidden) + as_json(hidden) + as_html(hidden)
    assert secret not in str(shown({"HCCL_X": sentence, "HOME": "/root"}, "trainbox"))
