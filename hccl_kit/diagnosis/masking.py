"""Texts that may be shown to strangers: addresses, hosts, users, private folders and secrets become marks.

Equal names have equal marks, such as <host 1>, so a masked text can still be followed. Loopback addresses, ranks,
ports, versions, modules and source files stay. What is masked already stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from ipaddress import ip_address

from hccl_kit.base.network import is_loopback
from hccl_kit.base.secret_texts import without_secrets

_MARK = re.compile(r"(<(?:address|host|user|name) [0-9]{1,9}>|<hidden>)")
_ADDRESS = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]*(?:[.:]+[0-9A-Fa-f]+)+(?:::)?|(?<![0-9A-Fa-f:])[0-9A-Fa-f:]*::")
_GLUED = re.compile(r"(?<!\d)\d{1,3}(?:\.\d{1,3}){3}(?!\d)")
"""An IPv4 address inside a longer word, such as `log.10.0.0.1.debug`."""
_MAC = re.compile(
    r"(?<![0-9A-Za-z:-])[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){7}|(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})(?![0-9A-Za-z:-])"
    r"|(?<![0-9A-Za-z.])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?![0-9A-Za-z.])"
)
_VERSION = re.compile(r"(?i)(?:\bv|version|release|cann)\W{0,3}$")
_LOGIN = re.compile(r"(?<![\w.@/+-])([\w.+-]{1,64})@([A-Za-z0-9][\w.-]{0,254})")
_TOP = (
    r"edu|com|cn|org|net|gov|mil|local|internal|lan|corp|svc|intranet|localdomain|example"
    r"|(?:ac|co|edu|gov|or)\.[a-z]{2}"
)
_OF_PYTHON = (
    r"self|cls|nn|ms|ops|model|network|torch\w*|mindspore|numpy|np|threading|google|tensorflow|os|sys|absl|vllm"
)
_PUBLIC = r"(?:[\w-]{1,40}\.){0,3}(?:hiascend|huawei|github|gitee|gitcode|pytorch|python|mindspore)\.(?:com|org|cn)"
"""Sites of documents, which fixes name."""
_URL = re.compile(rf"(?<=://)(?!{_PUBLIC}(?![\w.-]))[A-Za-z0-9][\w.-]{{0,254}}")
_DOMAIN = re.compile(
    rf"(?<![\w./-])(?!(?:{_OF_PYTHON})\.|{_PUBLIC}(?![\w.-]))(?:[A-Za-z0-9_][A-Za-z0-9_-]{{0,62}}\.){{1,8}}(?:{_TOP})(?![\w(-]|\.\w)"
)
_NODE = re.compile(
    r"(?i)(?<![\w./-])(?:[a-z0-9]{1,20}-){0,4}(?:"
    r"(?:ip|ec2|host|vm)(?:-\d{1,3}){4}"
    r"|(?:node|host|compute|cn|hpc|login|dgx|ecs|bms|gpu)-?(?:\d{1,6}|\[[0-9,-]{1,200}\])"
    r")(?:[-.](?!log\b|json\b|txt\b|py\b)[a-z0-9]{1,40}){0,6}(?![\w(])"
)
"""Names of hosts by their form."""
_PATH = re.compile(r"(?<![\w/.>])(?:~[\w-]{0,32})?/(?!/)(?:[^\s:;,'\"()<>\[\]=]|<[a-z]{1,8}(?: [0-9]{1,9})?>)+")
_KNOWN_PART = re.compile(
    r"(?i)\.{0,2}|~|ascend|ascend-toolkit|debug|run|runs|plog|logs?|hccl_logs|latest|process_log|tmp|var|home|users|root|mnt"
    r"|nfs|share|shared|work|workspace|scratch|lustre|gpfs|data\d{0,3}|opt|usr|etc|dev|lib(?:64)?|bin|src|\.?venv|envs?"
    r"|(?:mini|ana)conda3?|miniforge3?|(?:site|dist)-packages|python[0-9.]{0,5}|hccl_kit"
    r"|(?:device|rank|worker|attempt|restart)[-_]?\d{0,6}"
)
"""Folders whose names say nothing about their owner."""
_KNOWN_FILE = re.compile(
    r"(?i)(?:plog|device|error|rank|worker|scheduler|sched|msrun|torchrun|slurm|log|facts|launcher)?(?:[-_]?\d{1,20}){0,3}"
    r"(?:\.(?:log|jsonl?|txt|out|err|tar|gz|tgz|zip)){1,2}|[\w-]{1,80}\.(?:py|so[0-9.]{0,9}|cc|cpp|h)"
)
_SYSTEM = re.compile(r"/(?:usr|etc|lib|lib64|bin|sbin|proc|sys|dev|run|boot)/")
"""Paths whose folders are those of the system and of packages."""
_HOMES = ("home", "Users")
_ENDING = re.compile(r"(?:\.(?:log|jsonl?|txt|out|err|tar|gz|tgz|zip|ya?ml|ckpt|sh|html|[0-9]{1,3}))+$")
_USUAL = re.compile(
    r"(?i)root|user|users|admin|ubuntu|test|train|data|model|models|work|default|local|localhost|host|node|server|rank|job"
    r"|public|shared|common|none|unknown|hccl|ascend|python|torch|mindspore"
)
"""Names that are words of many sentences, so that they are masked in paths and logins only."""


class Masker:
    """Masks texts, and knows which marks it has given. `hosts`, `users` and `names` are private wherever they stand.

    `home` is shown as ~. `files` are names of files of the caller, which may be relative, and are masked as paths.
    """

    def __init__(
        self,
        hosts: Iterable[str] = (),
        users: Iterable[str] = (),
        *,
        names: Iterable[str] = (),
        files: Iterable[str] = (),
        home: str = "",
    ) -> None:
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._done: dict[str, str] = {}
        self._private: dict[str, str] = {}
        for kind, words in (("name", names), ("user", users), ("host", hosts)):
            self._private.update((word, kind) for word in words if _is_private(word))
        self._words = _any_of(self._private)
        self._files = _any_of(file for file in files if "/" in file)
        self._home = re.compile(rf"(?<![\w.-]){re.escape(home)}(?=/|:|$)" if len(home) > 1 else "(?!)")

    def learn(self, texts: Iterable[str]) -> None:
        """Take the users and hosts that texts name as such, so that they are masked in all others too."""
        for text in texts:
            for match in re.finditer(rf"/(?:{'|'.join(_HOMES)})/([\w.-]{{1,64}})", text):
                self._learn(match[1], "user")
            for match in _LOGIN.finditer(text):
                self._learn(match[1], "user")
                self._learn(match[2], "host")
            for pattern in (_DOMAIN, _NODE, _URL):
                for match in pattern.finditer(text):
                    self._learn(match[0], "host")
        self._words = _any_of(self._private)

    def _learn(self, word: str, kind: str) -> None:
        word = word.rstrip(".")
        short = word.split(".")[0]
        for word_or_short in {word, short} if re.search(r"[0-9-]", short) and kind == "host" else {word}:
            if (
                _is_private(word_or_short)
                and not _USUAL.fullmatch(word_or_short)
                and not word_or_short.isdigit()
                and len(word_or_short) > 2
            ):
                self._private.setdefault(word_or_short, kind)

    def text(self, text: str) -> str:
        """A sentence, a line, or the name of a server."""
        if text not in self._done:
            self._done[text] = self._text(text)
        return self._done[text]

    def _text(self, text: str) -> str:
        text = _outside_marks(without_secrets, text)
        text = self._home.sub("~", text)
        for paths in (self._files, _PATH):
            text = paths.sub(lambda match: self.path(match[0]), text)
        return _outside_marks(self._plain, text)

    def _plain(self, text: str) -> str:
        """A text without paths and marks."""
        text = _LOGIN.sub(lambda match: f"{self.mark('user', match[1])}@{self.host(match[2])}", text)
        return _outside_marks(self._addresses_and_names, text)

    def _addresses_and_names(self, text: str) -> str:
        text = _MAC.sub(lambda match: self.mark("address", re.sub(r"[^0-9a-f]", "", match[0].lower())), text)
        for step in (
            lambda part: _URL.sub(lambda match: self.host(match[0]), part),
            lambda part: _ADDRESS.sub(self._address, part),
            lambda part: _GLUED.sub(self._address, part),
            lambda part: self._words.sub(lambda match: self.mark(self._private[match[0]], match[0]), part),
            lambda part: _DOMAIN.sub(lambda match: self.mark("host", match[0]), part),
            lambda part: _NODE.sub(lambda match: self.mark("host", match[0]), part),
        ):
            text = _outside_marks(step, text)
        return text

    def _address(self, match: re.Match[str]) -> str:
        return self.address(match[0], is_version=bool(_VERSION.search(match.string[: match.start()][-24:])))

    def address(self, text: str, *, is_version: bool = False) -> str:
        """The mark of an address, or the text if it is none, or means this machine."""
        try:
            address = ip_address(text)
        except ValueError:
            return self._with_port(text, is_version=is_version)
        if address.is_loopback or address.is_unspecified or (is_version and not address.is_private):
            return text
        return self.mark("address", str(address))

    def _with_port(self, text: str, *, is_version: bool) -> str:
        """`10.0.0.1:6000` keeps its port."""
        before, colon, port = text.rpartition(":")
        is_pair = colon and "." in before and ":" not in before
        return f"{self.address(before, is_version=is_version)}:{port}" if is_pair else text

    def host(self, text: str) -> str:
        """A value that is a host, an address, or a list of hosts."""
        address = self.address(text)
        if address != text or is_loopback(text) or not text or _MARK.fullmatch(text):
            return address
        return self.mark("host", text)

    def path(self, path: str) -> str:
        """A path: names of folders and files become marks, unless they are common to all systems."""
        if _SYSTEM.match(path):
            return _outside_marks(self._plain, path)
        *folders, name = path.split("/")
        kinds = ["user" if before in _HOMES else "name" for before in ["", *folders]]
        masked = [self._part(part, kind) for part, kind in zip(folders, kinds, strict=False)]
        if _KNOWN_FILE.fullmatch(name):
            return "/".join([*masked, name])
        ending = _ENDING.search(name)
        stem = name[: ending.start()] if ending else name
        return "/".join([*masked, self._part(stem, kinds[-1]) + (ending[0] if ending else "")])

    def _part(self, part: str, kind: str) -> str:
        if _KNOWN_PART.fullmatch(part) or _MARK.search(part):
            return part
        address = self.address(part)
        if address != part:
            return address
        return self.mark(self._private.get(part, kind), part)

    def mark(self, kind: str, word: str) -> str:
        """The mark of a private word: a new one, or that which it has already."""
        if (kind, word) not in self._marks:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._marks[kind, word] = f"<{kind} {self._counts[kind]}>"
        return self._marks[kind, word]


def _outside_marks(change: Callable[[str], str], text: str) -> str:
    """The text with each part between two marks changed."""
    if "<" not in text:
        return change(text)
    parts = _MARK.split(text)
    return "".join(part if n % 2 else change(part) for n, part in enumerate(parts))


def _is_private(word: str) -> bool:
    """Whether a name may be masked in every sentence; addresses have marks of their own."""
    return len(word) > 1 and not _KNOWN_PART.fullmatch(word) and not _ADDRESS.fullmatch(word) and not is_loopback(word)


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words, whole, the longest first."""
    known = sorted(set(words), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)" if known else "(?!)")
