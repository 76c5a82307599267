"""Passwords, tokens and keys in texts of any kind: what follows a word that announces one, and what looks like one."""

from __future__ import annotations

import re

HIDDEN = "<hidden>"

_VALUE = r"(?:\"[^\"\n]{1,4000}\"|'[^'\n]{1,4000}'|[^\s,;&\"'(){}\[\]<>]{1,4000})"
_WORD = (
    r"pass(?:word|wd|phrase)|(?<![a-z])pwd|secret|token(?!s|iz)|credentials?|cookie"
    r"|(?:api|access|auth|private|secret|account|encryption)[_-]?key"
)
_NAMED = re.compile(
    rf"(?i)(?<![a-z])(?P<name>(?:[a-z0-9]{{1,40}}[_.-]){{0,6}}(?:{_WORD})(?:[_-][a-z0-9]{{1,40}}){{0,4}}[\"']?"
    rf"(?: (?:for|of) [^\s:=]{{1,100}})?(?:\s{{0,4}}(?:=>|[:=])\s{{0,4}}|\s(?:is|was)\s))"
    r"(?!(?:none|null|true|false|not|wrong|missing|empty|unset|invalid|expired|required)\b|/)(?:Bearer |Basic )?"
    rf"{_VALUE}"
)
_OPTION = re.compile(rf"(?i)(?P<name>--(?:[a-z]{{1,20}}-){{0,3}}(?:{_WORD})[ =])(?!-){_VALUE}")
_HEADER = re.compile(
    r"(?i)(?P<name>\b(?:(?:proxy-)?authorization|x-[a-z-]{1,40}(?:token|key)|(?:set-)?cookie)[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
    r"[^\s<\"'][^\"'\n<]{0,4000}"
)
_SCHEME = re.compile(r"(?P<name>\b[Bb]earer )[\w.~+/=-]{6,4000}")
_LOGIN = re.compile(r"(?P<name>//)[^/@\s<>]{1,1000}(?=@)")
_KNOWN = re.compile(
    r"(?P<name>(?<![A-Za-z0-9]))(?:hf_[A-Za-z0-9]{8,200}|sk-[A-Za-z0-9_-]{8,300}|gh[pousr]_[A-Za-z0-9]{16,300}"
    r"|github_pat_\w{16,300}|glpat-[\w-]{16,200}|xox[abeprs]-[\w-]{8,300}|A[KS]IA[0-9A-Z]{16}"
    r"|eyJ[\w-]{8,4000}\.[\w-]{4,4000}(?:\.[\w-]{0,4000})?"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{0,8000}?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$))"
)
_ALL = (_LOGIN, _KNOWN, _OPTION, _NAMED, _HEADER, _SCHEME)


def without_secrets(text: str) -> str:
    """The text with HIDDEN for each of them; the words that announce them stay."""
    for pattern in _ALL:
        text = pattern.sub(lambda match: f"{match['name']}{HIDDEN}", text)
    return text
