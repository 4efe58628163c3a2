"""
Secrets whose name stands in another line: columns of tables, data of Kubernetes, states of Terraform, recovery codes.

Each reader goes once through a text, and yields spans. A value with a marker in it is none: it was removed before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from memory.redact.detectors import bare_password, code, expression, said_elsewhere, scrambled, stand_in, token, words
from memory.redact.named import FOREIGN, STEM, STEMS, SUFFIX
from memory.redact.rules import MARK, SecretRule, Span, Text, Words, compiled

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Generator, Iterator


# Tables -----------------------------------------------------------------------

_HEAD = rf"[\"'*_`\s]*(?:[^\W\d_][\w.-]{{0,30}}[ _-]){{0,2}}(?P<name>{STEM}{SUFFIX})(?:[ \t]?\([^()]{{0,30}}\))?[\"'*_`\s:]*"
_ALONE = r"[\"'*_`\s]*pass[\"'*_`\s]*"
_USERS = r"user|login|account|mail|host|server|service"
_RULER = r"[ \t]*[|+│┃├┝]?[ \t]*(?=[^\r\n]*[-─━═])[-:|+─━═┼╪╋├┤┝┥╞╡┠┨┡┩╇\s]+"
_BARS = "|│┃"
_CELL = r"[^|│┃\r\n]*"
_SEPARATORS = ("\t", ";", ",")
_WIDE = 1_000  # characters of a line with titles
_LONGEST = 8_000  # characters of a row that are looked at
_NAMES = Words([(0, SecretRule("", "", STEMS, folded=True)), (0, SecretRule("", "", FOREIGN, folded=True, apart=True))])
_TITLE = r"[\"']?[^\W\d_][\w ./()-]{0,40}[\"']?"
_LEAD = r"[:.!?][ \t]+"
"""What ends a sentence before the titles: `The accounts are: user,password,role`."""

_TD = r"<(?P<tag>tr|t[hd])\b[^<>]{0,200}>(?:(?P<cell>[^<>]{0,512})</t[hd])?"


def _value(text: str, start: int, stop: int, *, password: bool) -> Span | None:
    """What is in a cell without blanks, quotes and marks around it, if it is a secret."""
    held = text[start:stop]
    value = held.strip().strip("\"'`*_ \t")
    if (
        not value
        or MARK in held
        or any(map(str.isspace, value))
        or stand_in(value)
        or said_elsewhere(value)
        or code(value)
    ):
        return None
    fits = token(value) or (password and not words(value) and bare_password(value))
    begin = start + held.index(value)
    return (begin, begin + len(value)) if fits and not expression(value) else None


def _columns(cells: list[str]) -> dict[int, bool]:
    """Which columns hold secrets, by their heads, and whether passwords."""
    users = any(compiled(_USERS, folded=True).search(cell) for cell in cells)
    found = {}
    for at, cell in enumerate(cells):
        head = compiled(_HEAD, folded=True).fullmatch(cell) if len(cell) <= 80 else None
        if head and (users or not compiled(_ALONE, folded=True).fullmatch(cell)):
            found[at] = head["password"] is not None
    return found


def tables(whole: Text) -> Iterator[Span]:
    """Cells below the head of a column, or beside the head of a row, in tables with bars and in lists with separators."""
    text, done = whole.text, 0
    for start in _lines(whole):
        if start < done:
            continue
        head, at = _line(text, start)
        if any(bar in head for bar in _BARS):
            cells = _split(head, start)
            names = [text[slice(*cell)] for cell in cells]
            yield from _beside(text, cells, names)
            ruler, below = _line(text, at)
            ruled = compiled(_RULER, folded=False).fullmatch(ruler) is not None
            if columns := _columns(names) if ruled or head.lstrip().startswith("||") else {}:
                done = yield from _rows(text, below if ruled else at, columns)
        elif columns := _columns_of_list(head):
            done = yield from _listed(text, at, head, columns)


def _lines(whole: Text) -> list[int]:
    """Where the lines begin in which something is named as secrets are."""
    text, starts = whole.text, set()
    for name, *_ in _NAMES.present(whole):
        at = whole.low.find(name)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = whole.low.find(name, end) if end >= 0 else -1
    return sorted(starts)


def _line(text: str, start: int) -> tuple[str, int]:
    """The line that begins here, and where the next begins."""
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)].rstrip("\r"), end + 1 if end >= 0 else len(text)


def _rows(text: str, at: int, columns: dict[int, bool]) -> Generator[Span, None, int]:
    """Secrets in these columns, in rows to the end of the table; returns where that is."""
    while at < len(text):
        row, after = _line(text, at)
        if not any(bar in row for bar in _BARS) and not compiled(_RULER, folded=False).fullmatch(row):
            break
        yield from _cells(text, _split(row, at), columns)
        at = after
    return at


def _columns_of_list(head: str) -> dict[int, bool]:
    """The columns of a line that has nothing but titles between commas, semicolons or tabs."""
    if len(head) > _WIDE or not any(sign in head for sign in _SEPARATORS):
        return {}
    _, fields = _fields(head, 0)
    first, *others = (head[slice(*field)].strip() for field in fields)
    names = [compiled(_LEAD, folded=False).split(first)[-1], *others]
    return _columns(names) if all(compiled(_TITLE, folded=False).fullmatch(name) for name in names) else {}


def _listed(text: str, at: int, head: str, columns: dict[int, bool]) -> Generator[Span, None, int]:
    sign, heads = _fields(head, 0)
    while at < len(text):
        row, after = _line(text, at)
        if row.count(sign) < len(heads) - 1:
            break
        yield from _cells(text, _fields(row, at, sign)[1], columns)
        at = after
    return at


def _split(line: str, at: int) -> list[Span]:
    """The cells of a line with bars: between bars, so that the first may be empty."""
    return [
        (at + cell.start(), at + cell.end())
        for cell in compiled(rf"(?:^|(?<=[{_BARS}])){_CELL}", folded=False).finditer(line)
    ]


def _fields(line: str, at: int, sign: str = "") -> tuple[str, list[Span]]:
    """The sign that separates a line's fields, and where they are; one in quotes separates none."""
    sign = sign or max(_SEPARATORS, key=line.count)
    spans, start, quoted = [], 0, False
    for place, letter in enumerate(line[:_LONGEST]):
        quoted ^= letter == '"'
        if letter == sign and not quoted:
            spans.append((at + start, at + place))
            start = place + 1
    return sign, [*spans, (at + start, at + len(line))]


def _cells(text: str, cells: list[Span], columns: dict[int, bool]) -> Iterator[Span]:
    for column, password in columns.items():
        if column < len(cells) and (span := _value(text, *cells[column], password=password)):
            yield span


def _beside(text: str, cells: list[Span], names: list[str]) -> Iterator[Span]:
    """The cell after one of the first two that names a secret, if it looks generated."""
    for at, name in enumerate(names[:-1][:2]):
        if found := _columns([name]):
            span = _value(text, *cells[at + 1], password=found[0])
            if span and token(text[slice(*span)]):
                yield span


def markup(whole: Text) -> Iterator[Span]:
    """Cells of a table in HTML below the head of their column."""
    text = whole.text
    columns: dict[int, bool] = {}
    row: list[re.Match[str]] = []
    for found in compiled(_TD, folded=True).finditer(text):
        if found["tag"].lower() == "tr":
            columns, row = _columns([one["cell"] or "" for one in row]) or columns, []
            continue
        row.append(found)
        if len(row) - 1 in columns and found["cell"] is not None:
            span = _value(text, *found.span("cell"), password=columns[len(row) - 1])
            if span:
                yield span
        elif len(row) == 2 and found["cell"]:
            yield from _beside(text, [one.span("cell") for one in row], [one["cell"] or "" for one in row])


# Secrets of Kubernetes ----------------------------------------------------------

_OBJECT = r"(?m)^(?:---|[ \t]{0,40}(?:-[ \t]+)?apiVersion:)|\{\s*[\"'](?:apiVersion|kind)[\"']\s*:"
_KIND = r"(?m)[\"']?\bkind[\"']?[ \t]*:[ \t]*[\"']?Secret\b(?![\w-])"
_DATA = r"(?m)^(?P<indent>[ \t]*)(?:string)?[dD]ata:[ \t]*\r?$|[\"'](?P<json>(?:string)?[dD]ata)[\"']\s*:\s*\{"
_ENTRY = r"(?m)(?P<indent>[ \t]*)[\"']?[\w./-]{1,253}[\"']?:(?:[ \t]+[|>][+-]?[ \t]*\r?\n(?P<block>(?:(?P=indent)[ \t]+[^\r\n]*\r?\n?){1,200})|[ \t]+(?P<value>[^\r\n]+))?"
_MEMBER = r"\s*\"[^\"\n]{1,253}\"\s*:\s*\"(?P<value>(?:\\.|[^\"\\\n]){0,4096})\"\s*,?"
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"


def kubernetes(whole: Text) -> Iterator[Span]:
    """The values below `data` and `stringData` of a Secret."""
    text = whole.text
    cuts = [0, *(found.start() for found in compiled(_OBJECT, folded=False).finditer(text)), len(text)]
    for start, stop in pairwise(cuts):
        if compiled(_KIND, folded=False).search(text, start, stop):
            for data in compiled(_DATA, folded=False).finditer(text, start, stop):
                encoded = "string" not in data[0]
                yield from _entries(text, data, stop, encoded=encoded)


def _entries(text: str, data: re.Match[str], stop: int, *, encoded: bool) -> Iterator[Span]:
    pattern, at = (_MEMBER, data.end()) if data["json"] else (_ENTRY, _next_line(text, data.end()))
    depth = None if data["json"] else len(data["indent"])
    while at < stop and (entry := compiled(pattern, folded=False).match(text, at, stop)):
        if depth is not None and len(entry["indent"]) <= depth:
            return
        group = "value" if entry["value"] is not None else "block"
        value = (entry.groupdict().get(group) or "").strip().strip("\"'")
        if value and _kept_secret(value, encoded=encoded):
            start = entry.start(group) + entry[group].index(value)
            yield start, start + len(value)
        at = (
            entry.end()
            if data["json"] or (group == "block" and entry.groupdict().get("block"))
            else _next_line(text, entry.end())
        )


def _next_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return found + 1 if found >= 0 else len(text)


def _kept_secret(value: str, *, encoded: bool) -> bool:
    if MARK in value or stand_in(value):
        return False
    if encoded:
        return compiled(_BASE64, folded=False).fullmatch("".join(value.split())) is not None
    return not words(value) and not said_elsewhere(value)


# States of Terraform ------------------------------------------------------------

_RESULT = r"\"(?:result|bcrypt_hash)\"\s{0,8}:\s{0,8}\"(?P<s>(?:\\.|[^\"\\\n]){1,512})\""
_SENSITIVE = r"\"value\"\s{0,8}:\s{0,8}\"(?P<s>(?:\\.|[^\"\\\n]){1,4096})\"[^{}]{0,200}?\"sensitive\"\s{0,8}:\s{0,8}true|\"sensitive\"\s{0,8}:\s{0,8}true[^{}]{0,200}?\"value\"\s{0,8}:\s{0,8}\"(?P<t>(?:\\.|[^\"\\\n]){1,4096})\""


def terraform(whole: Text) -> Iterator[Span]:
    """What `random_password` made, and outputs that are sensitive."""
    text = whole.text
    places = [found.end() for found in compiled('"random_password"', folded=False).finditer(text)]
    for start, stop in pairwise([*places, len(text)]):
        for found in compiled(_RESULT, folded=False).finditer(text, start, min(stop, start + 20_000)):
            yield from _unless_stand_in(found, "s")
    if '"sensitive"' in text:
        for found in compiled(_SENSITIVE, folded=False).finditer(text):
            yield from _unless_stand_in(found, "s" if found["s"] is not None else "t")


def _unless_stand_in(found: re.Match[str], group: str) -> Iterator[Span]:
    if not stand_in(found[group]):
        yield found.span(group)


# Recovery codes -----------------------------------------------------------------

_LABEL = (
    r"(?:(?:recovery|back-?up|scratch|rescue|emergency|one[- ]time|2fa|mfa|two[- ]factor|wiederherstellungs|notfall|ersatz|herstel)[ _-]?)+(?:keys?|codes?)(?![\w-])"
    r"|(?:codes?|códigos?|codigos?|codici) (?:de |di )(?:secours|récupération|recuperación|recuperacion|respaldo|recuperação|backup|recupero|riserva)"
    r"|kody (?:zapasowe|odzyskiwania)|резервные коды|коды восстановления|恢复码|恢復碼|备用码|備用碼|リカバリーコード|バックアップコード|복구 코드"
)
_GAP = r"[\"'*_`]{0,3}(?:[ \t](?:for|of|from|für|pour|para|de)[ \t][\w.@-]{1,40}|[ \t]\([\w .@-]{1,40}\))?[\"'*_`]{0,3}(?:[ \t]{0,3}(?:are|is|sind|sont|son|[:=：—-])){0,2}[\"'*_`]{0,3}"
_STEP = r"[\s,;|•*·\"'`\[\]☐✓]{0,12}(?:\d{1,2}[.):][ \t]{1,3}|-[ \t]{1,3}|[-*][ \t])?[\"'`*]{0,2}"
_CODE = r"(?:\d{3,5} \d{3,5}|[A-Za-z0-9]{3,10}(?:-[A-Za-z0-9]{3,10}){1,5}|[A-Za-z0-9]{6,16})(?![\w@/=-]|\.\w)"
_MOST = 32  # codes in a list


def recovery(whole: Text) -> Iterator[Span]:
    """The codes that follow their label: all of one form, some with digits."""
    text = whole.text
    for label in compiled(_LABEL, folded=True).finditer(text):
        gap = compiled(_GAP, folded=True).match(text, label.end())
        at = gap.end() if gap else label.end()
        spans: list[Span] = []
        form: tuple[int, ...] | None = None
        while len(spans) < _MOST:
            step = compiled(_STEP, folded=False).match(text, at)
            found = compiled(_CODE, folded=False).match(text, step.end() if step else at)
            if not found or (form is not None and _form(found[0]) != form):
                break
            form = _form(found[0])
            spans.append(found.span())
            at = found.end()
        codes = [text[slice(*span)] for span in spans]
        if any(any(map(str.isdigit, one)) or scrambled(one) for one in codes):
            yield from (span for span, one in zip(spans, codes, strict=True) if not stand_in(one))


def _form(found: str) -> tuple[int, ...]:
    return tuple(map(len, found.replace(" ", "-").split("-")))


_LABELS = (
    *(
        "recovery",
        "backup",
        "back-up",
        "scratch",
        "rescue",
        "emergency",
        "one-time",
        "one time",
        "2fa",
        "mfa",
        "two-factor",
    ),
    *(
        "two factor",
        "wiederherstellungs",
        "notfall",
        "ersatz",
        "herstel",
        "codes de",
        "code de",
        "códigos de",
        "código de",
    ),
    *(
        "codigos de",
        "codici di",
        "kody ",
        "коды",
        "恢复码",
        "恢復碼",
        "备用码",
        "備用碼",
        "リカバリーコード",
        "バックアップコード",
        "복구 코드",
    ),
)


def _reader(
    name: str, read: Callable[[Text], Iterator[Span]], words: tuple[str, ...], *needs: str, apart: bool = False
) -> SecretRule:
    return SecretRule(name, "", words, needs=needs, apart=apart, reader=read)


BLOCKS: tuple[SecretRule, ...] = (
    _reader("table-secret", tables, STEMS, "|", "│", "┃", ",", ";", "\t"),
    _reader("table-secret", tables, FOREIGN, "|", "│", "┃", ",", ";", "\t", apart=True),
    _reader("table-secret", markup, STEMS, "<td", "<TD"),
    _reader("table-secret", markup, FOREIGN, "<td", "<TD", apart=True),
    _reader("kubernetes-secret", kubernetes, ("secret",), "kind"),
    _reader("terraform-secret", terraform, ('"random_password"', '"sensitive"')),
    _reader("recovery-code", recovery, _LABELS, apart=True),
)
