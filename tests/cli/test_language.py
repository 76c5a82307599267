"""Programs in Chinese: every line that a person reads, the same exit codes, and nothing for programs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.base.arguments import help_texts
from hccl_kit.base.translation import speak
from hccl_kit.cli.kit import VERBS, main
from hccl_kit.cli.parsers import parser_of
from hccl_kit.snapshot.document import THIS, Snapshot, to_value
from tests.places import ROOT
from tests.snapshot.machines import machine
from tests.tables import text

CHINESE = "zh_CN.UTF-8"
BAD = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')
GEN = ("gen", "--simulate", "--product", "a2")
SITUATIONS = {
    # what a person types, and a part of the answer
    ("check", "bad.json"): "bad.json:16:32: HK201 错误：rank 0 已分配给服务器",
    ("check", "good.json"): "good.json：检查通过，版本 1.0，1 台服务器，8 张卡，产品 auto",
    ("check", "cut.json"): "HK001 错误：不是合法的 JSON",
    ("check", "status.json"): 'HK110 错误："status" 为 "done"；HCCL 最多等待 1800 秒',
    ("check", "good.json", "--product", "910", "--strict", "--select", "HK9"): "没有名为 'HK9' 的规则",
    ("check", "empty.json"): "文件为空",
    ("check", "bad.json", "--diff"): "没有可自动修复的内容：无法确定 HK201 的正确值",
    ("check", "nothing/"): "无法读取 nothing/：没有该文件或目录",
    (*GEN, "--device_num", "[0,2"): "错误：--device_num：最后一个 ID 之后应为 ')' 或 ']'，实际：结尾",
    (
        "gen",
        "--simulate",
        "--product",
        "910",
        "--device_num",
        "[0,9)",
    ): "有 9 张卡；Atlas 800-9000/9010 (910A) 的每台服务器支持",
    (*GEN, "--device_num", "[0,2)", "--", "true"): "下一步：bash ascend2p.sh",
    (*GEN, "--device_num", "[0,2)", "--hosts", "n1,n1", "--", "true"): "重复；每台服务器只能出现一次",
    (*GEN, "--device_num", "[0,2)", "--", "torchrun", "a.py"): "torchrun 自己会启动任务的各进程",
    ("merge", "good.json", "good.json"): "good.json 重复",
    ("launch", "good.json", "--to", "jobset", "--", "true"): "错误：未指定容器镜像",
    ("launch", "bad.json", "--to", "bash", "--", "true"): "解决方法：hccl-check bad.json",
    ("run", "good.json", "--devices", "[0,2)", "--", "true"): "good.json 被当作 rank table，而 --devices 也会生成一张",
    ("convert", "good.json", "--to", "1.0"): "错误：该表已经是 1.0 版本",
    ("preflight", "good.json", "--select", "HK607"): "HK607 错误：HCCL_INTRA_PCIE_ENABLE=1 且",
    ("preflight", "good.json", "--select", "HK607,HK612"): "本机（",
    ("preflight", "bad.json"): "先修正 rank table；未检查任何机器",
    ("preflight", "good.json", "--server", "n9", "--select", "HK607"): '表中没有服务器 "n9"；现有',
    ("preflight", "good.json", "--select", "HK615"): "HK615 用于比较各服务器",
    ("preflight", "good.json", "--cards", "--dry-run"): "每轮中，每张卡 ping 另一张卡",
    ("diagnose", "logs"): "首错：        无法判断：日志中没有能说明原因的报错",
    ("diagnose", "job"): "解决方法：    清理磁盘",
    ("rules",): "错误；a3 上为警告",
    ("chekc",): "是否应为 hccl-kit check？",
    ("place", "good.json", "--to", "hypernode", "--tp", "2"): "--tp 不能与 --to hypernode 一起使用",
    ("place", "good.json", "--tp", "2", "--pp", "4"): "表中的顺序",
    ("selftest", "two.json"): "表中有 2 台服务器，而该命令只会在本机启动 rank",
    ("selftest", "good.json", "--slow", "2"): "--slow 应在 0 到 1 之间，实际为 2",
    ("selftest", "good.json", "--hccl-test", "all_reduce=empty.json"): "empty.json 中没有 hccl_test 的数据行",
    ("selftest", "good.json", "--hccl-test", "all_reduce=hccl_test.log"): "  解决方法：各 rank 对没有该问题",
    ("diff", "good.json", "status.json"): 'status："completed" -> "done"',
    ("diff", "good.json", "good.json"): "内容相同",
    ("diff", "good.json", "two.json"): "服务器：无 -> 4 张卡",
    ("compare", "before.json", "after.json"): "driver 版本：25.2.0（before.json）；25.0.0（after.json）",
    ("compare", "before.json", "before.json"): "没有不一致",
    ("report", "run"): "训练\n  steps         9\n",
    ("show", "good.json", "--width", "80"): "1.0 版本，1 台服务器，8 张卡，产品 auto\n  10.0.0.1\n    卡   0 1",
    ("show", "bad.json", "--width", "200"): "HK201 错误：rank 0 已分配给服务器",
    ("env", "good.json", "--check", "variables.env"): "variables.env：HCCL_CONNECT_TIMEOUT=",
    ("env", "good.json", "--check", "ports.env"): "；规划值：65408；未规划端口的任务都监听这个端口",
    ("watch",): "这里没有 hccl_logs/latest",
    ("watch", "job", "--once"): "job：无 step，2 个 rank",
    ("watch", "empty.json"): "需要与 --ssh 一起使用",
    ("watch", "two.json", "--ssh", "--once"): "没有服务器响应；10.0.0.1：无法启动 no-ssh：没有该文件或目录",
    ("preflight", "two.json", "--all", "--select", "HK607"): "无响应：无法启动 no-ssh：没有该文件或目录",
    ("run", "two.json", "--ssh", "--spares", "n9", "--", "true"): "备用服务器 n9 无法列出自己的卡：无法启动 no-ssh",
    ("diagnose", "headline"): "进程不是由启动工具拉起的",
    ("diagnose", "nothing"): "错误：无法读取 nothing：没有该文件或目录",
    ("diagnose", "none"): "错误：找不到日志",
    ("diagnose", "empty.json"): "错误：没有可诊断的内容：1 个文件中没有可识别的行",
    ("launch", "good.json", "--to", "k8s", "--", "true"): "可选值：bash、mpirun、msrun、slurm",
}

ANSWERS = {
    # paragraphs, which take other lines in Chinese
    ("env", "good.json"): "任务 0（每台主机最多 8 个任务）：端口 65408 到 65535",
    ("explain", "HK203"): "现象：     同一台服务器的两张卡 `device_id` 相同",
    ("explain", "EI0006"): "EI0006: 某个 rank 等待与另一个 rank 建链超时",
    ("explain", "EI0019"): "解决方法：   结束占用端口的进程",
    ("explain", "HcclResult 9"): "类型：       仅为结果：原因在同一进程更早的",
    ("explain", "Failed to connect agent[3, 5]"): "本行：       rank 3, 5 未参与集群信息协商",
    ("explain", "EI0014: Value 2 for ranktable variable server_count is invalid"): "HCCL 读到 server_count 的值为 2",
    ("explain", "TASK_QUEUE_ENABLE"): "用途：0（或 ASCEND_LAUNCH_BLOCKING=1）用于定位报错的算子",
    ("explain", "nothing of HCCL"): "错误：没有与 'nothing of HCCL' 匹配的规则、故障码或日志",
    ("explain", "ValueError: bad shape\nTopoDetect ERROR occur"): "第 1 行有程序自身的更早错误",
    ("explain", "empty.json", "EI0019"): "empty.json：未检查，没有针对 rank table 的规则会报告该问题",
    ("explain", "HCCL_EXEC_TIMEOUT=-1"): "CANN 8.0 到 9.1 不支持 '-1'",
    ("diagnose", "plain"): "首错：        无法判断：没有能识别为报错或属于某个 rank 的日志行",
    ("explain", "/"): "解决方法：hccl-kit diagnose /",
}

WRONG = {
    # a wrong use of a program, after its usage
    ("check", "--porduct", "910", "t.json"): "hccl-check: 错误：无法识别的参数：--porduct；是否应为 --product？",
    ("convert", "t.json", "--to", "3"): "hccl-kit convert: 错误：参数 --to：无效的取值 '3'（可选值：",
    ("eval", "--json"): "hccl-kit eval: 错误：缺少以下必选参数：-c/--config",
    ("predict", "--images", "x", "--turn", "y"): "hccl-kit predict: 错误：以下选项需要 --config：--turn",
}
OF_TRAINING = {
    ("train", "-c", "nothing.yaml"): "错误：无法读取 nothing.yaml：文件不存在，也没有这个名字的自带配置",
    ("eval", "-c", "rec/crnn/crnn_small.yaml"): "错误：eval.dataset：没有标签文件或目录 data/words/test_gt.txt",
    ("render-words", "--seed", "-1"): "错误：--seed 为 -1；应不小于 0",
}

NO_LAUNCHER = """Traceback (most recent call last):
  File "train.py", line 7, in <module>
    init_process_group()
ValueError: using env:// rendezvous: environment variable RANK expected, but not set
"""
TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 7, in <module>
    save()
OSError: [Errno 28] No space left on device: '/ckpt/last.pt'
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with some tables."""
    (tmp_path / "good.json").write_text(text())
    (tmp_path / "two.json").write_text(text(2, 4))
    (tmp_path / "bad.json").write_text(BAD)
    (tmp_path / "cut.json").write_text(BAD[:-20])
    (tmp_path / "status.json").write_text(text().replace("completed", "done"))
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "variables.env").write_text("export HCCL_CONNECT_TIMEOUT=5\n")
    (tmp_path / "ports.env").write_text("export HCCL_IF_BASE_PORT=60000\n")
    for name, driver in (("before", "25.2.0"), ("after", "25.0.0")):
        snapshot = Snapshot({THIS: machine(versions={"driver": driver})})
        (tmp_path / f"{name}.json").write_text(json.dumps(to_value(snapshot)))
    (tmp_path / "hccl_test.log").write_text("67108864 | 2691.00 | 24.94 | failed\n")
    logs = {"logs/rank_1": "no error", "job/rank_1": TRACEBACK, "plain/out": "error code EI0006"}
    for name, error in {**logs, "headline/rank_1": NO_LAUNCHER}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.log").write_text(error)
    (tmp_path / "none").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/summary.json").write_text('{"steps": 9}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HCCL_KIT_SSH", "no-ssh")
    monkeypatch.setenv("HCCL_INTRA_PCIE_ENABLE", "1")
    monkeypatch.setenv("HCCL_INTRA_ROCE_ENABLE", "1")
    yield tmp_path
    speak("en")


def answer(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    return code, *capsys.readouterr()


@pytest.mark.usefixtures("folder")
def test_people_read_chinese_with_the_same_exit_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, part in (SITUATIONS | ANSWERS).items():
        english = answer(words, capsys)
        assert not re.search("[\u4e00-\u9fff]", "".join(english[1:])), words
        with monkeypatch.context() as environ:
            environ.setenv("LC_ALL", CHINESE)
            chinese = answer(words, capsys)
        assert chinese[0] == english[0], words
        assert part in chinese[1] + chinese[2], words
        if words in SITUATIONS:
            assert len("".join(chinese[1:]).splitlines()) == len("".join(english[1:]).splitlines()), words


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_chinese(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {}
    try:
        for language in ("zh", "en"):
            with pytest.raises(SystemExit) as stopped:
                main(("--lang", language, verb, "--help"))
            assert stopped.value.code == 0
            texts[language] = capsys.readouterr().out
    finally:
        speak("en")
    assert not re.search("[\u4e00-\u9fff]", texts["en"])
    options = [re.findall(r"^  (-[-\w]+)", page, re.MULTILINE) for page in texts.values()]
    assert options[0] == options[1]
    page = " ".join(texts["zh"].split())
    english = [text for text in help_texts([parser_of(verb)]) if " " in text.strip() and " ".join(text.split()) in page]
    assert english == []


def test_the_list_of_all_verbs_is_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(("--lang", "zh", "--help")) == 0
    finally:
        speak("en")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "用法： hccl-kit VERB ..."
    verbs = [line for line in lines if re.match("  [a-z]", line) and not line.startswith("  hccl-kit")]
    assert len(verbs) == len(VERBS)
    assert all(re.search("[\u4e00-\u9fff]", line) for line in verbs)


def test_wrong_use_is_explained_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    for words, part in WRONG.items():
        codes = []
        for language in ("en", "zh"):
            with pytest.raises(SystemExit) as stopped:
                main(("--lang", language, *words))
            codes.append(stopped.value.code)
            err = capsys.readouterr().err
        speak("en")
        assert codes == [2, 2], words
        assert err.startswith("用法： "), words
        assert part in err, words


def test_programs_of_training_speak_chinese(folder: Path) -> None:
    for words, part in OF_TRAINING.items():
        english, chinese = (in_language(folder, language, *words) for language in ("en", "zh"))
        assert (english.returncode, chinese.returncode) == (2, 2), words
        assert part in chinese.stderr, words


def in_language(folder: Path, language: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hccl_kit", "--lang", language, *words]
    environ = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_a_job_that_fails_is_chinese_and_its_files_are_english(folder: Path) -> None:
    program = "import os, sys; sys.exit(3 * (os.environ['RANK'] == '1'))"
    words = ("run", "--devices", "[4,6)", "--simulate", "--product", "a2", "--bind", "cores", "--max-restarts", "1")
    done = {}
    for language in ("en", "zh"):
        command = (*words, "--log-dir", language, "--", sys.executable, "-c", program)
        done[language] = in_language(folder, language, *command)
        files = [path for path in (folder / language / "latest").rglob("*") if path.is_file()]
        assert not re.search("[\u4e00-\u9fff]", "".join(path.read_text() for path in files))
        assert " exited 1 3 5 " in (folder / language / "latest/restart_1/launcher_0").read_text()
    assert [one.returncode for one in done.values()] == [3, 3]
    assert not re.search("[\u4e00-\u9fff]", done["en"].stdout + done["en"].stderr)
    assert re.match(r"\S+：rank 0 到 1，卡 4 5，端口 [0-9]+，OMP_NUM_THREADS=[0-9]+，绑核 ", done["zh"].stdout)
    for part in (
        " 的 5 号卡上的 rank 1 失败，退出码 3\n",
        " 的末尾：\n",
        "1 秒后重启（第 1 次，最多 1 次）\n",
        "\n首错：  ",
    ):
        assert part in done["zh"].stderr
    for form in ("en", "zh"):
        said = [line for line in done[form].stderr.splitlines() if line.startswith(("error: ", "错误："))]
        (folder / form / "screen.log").write_text("\n".join(said))
    answers = [in_language(folder, "en", "diagnose", f"{form}/screen.log", "--format", "json") for form in ("en", "zh")]
    english, chinese = (json.loads(one.stdout)["suspects"] for one in answers)
    assert english
    assert chinese == english


@pytest.mark.usefixtures("folder")
def test_drawings_are_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for language in ("en", "zh"):
        assert main(("--lang", language, "show", "bad.json", "-o", f"{language}.svg")) == 1
        drawn.append(re.findall(">([^<>]+)</(?:text|title)>", Path(f"{language}.svg").read_text(encoding="utf-8")))
    english, chinese = drawn
    assert [bool(re.search("[a-z]{2,} [a-z]{2,}", text)) for text in english].count(True) > 4
    assert "4 号卡是 rank 12" in chinese
    assert [text for text in chinese if re.search("[a-z]{2,} [a-z]{2,}", text)] == []
    assert "已写入 zh.svg" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_programs_read_english(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("json", "sarif", "github"):
        words = ("check", "bad.json", "good.json", "--format", form)
        assert_equal(words, capsys, monkeypatch)
    for logs in ("job", "headline"):
        assert_equal(("diagnose", logs, "--format", "json"), capsys, monkeypatch)
    assert_equal(("preflight", "two.json", "--all", "--select", "HK607", "--format", "json"), capsys, monkeypatch)
    for pair in (("diff", "good.json", "two.json"), ("compare", "before.json", "after.json")):
        assert_equal((*pair, "--format", "json"), capsys, monkeypatch)
    for form in ("sh", "json"):
        assert_equal(("env", "good.json", "--format", form, "--server", "10.0.0.1"), capsys, monkeypatch)
    selftest = ("selftest", "good.json", "--hccl-test", "all_reduce=hccl_test.log", "--format", "json")
    assert_equal(selftest, capsys, monkeypatch)


def assert_equal(words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    english = answer(words, capsys)
    with monkeypatch.context() as environ:
        environ.setenv("LC_ALL", CHINESE)
        assert answer(words, capsys) == english, words


@pytest.mark.usefixtures("folder")
def test_what_is_written_is_the_same_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*GEN, "--device_num", "[0,4)", "-o")
    assert main((*words, "english", "--", "true")) == 0
    monkeypatch.setenv("LC_ALL", CHINESE)
    assert main((*words, "chinese", "--", "true")) == 0
    written = [{path.name: path.read_text() for path in Path(name).iterdir()} for name in ("english", "chinese")]
    assert written[0] == written[1]


@pytest.mark.usefixtures("folder")
def test_the_option_precedes_the_locale_and_stands_before_or_after_the_verb(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (
        ("--lang", "zh", "check", "bad.json"),
        ("--lang=zh", "check", "bad.json"),
        ("check", "--lang", "zh", "bad.json"),
        ("check", "bad.json", "--lang=zh"),
        ("check", "--lang", "en", "bad.json", "--lang", "zh"),
    ):
        assert "HK201 错误：" in answer(words, capsys)[1], words
    monkeypatch.setenv("LC_ALL", CHINESE)
    assert "HK201 error: " in answer(("--lang", "en", "check", "bad.json"), capsys)[1]


@pytest.mark.usefixtures("folder")
def test_the_command_of_the_ranks_keeps_its_own_lang(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = answer((*GEN, "--device_num", "[0,2)", "--", "train", "--lang", "zh"), capsys)
    assert "next: bash ascend2p.sh" in out


@pytest.mark.usefixtures("folder")
def test_an_unknown_language_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(("check", "--lang", "fr", "bad.json"))
    assert stopped.value.code == 2
    assert "--lang: invalid choice: 'fr'" in capsys.readouterr().err


def test_english_does_not_read_the_catalogue(folder: Path) -> None:
    code = "import sys; sys.addaudithook(lambda event, args: event == 'open' and print(args[0], file=sys.stderr));"
    code += "from hccl_kit.cli.check import main; main(['bad.json'])"
    for locale, is_read in (("C.UTF-8", False), (CHINESE, True)):
        environ = os.environ | {"PYTHONPATH": str(ROOT), "LC_ALL": locale, "PYTHONUTF8": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environ, capture_output=True, text=True, check=True
        )
        assert ("hccl_kit.mo" in done.stderr) == is_read
