"""
What people and agents say themselves, and which of their sentences say what was decided, what holds from now on, what
was wrong, and what something was caused by.

Left out are code, quotations, tables, logs, markup that programs put in, and the middle of what was pasted. The rest goes
by cue phrases (Hirschberg and Litman 1993, "Empirical Studies on the Disambiguation of Cue Phrases"), in English. A cue
alone says little, because the same words ask, suppose, report and tell stories: each has places in which it does not
count. It is better to miss something than to propose what nobody would keep.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memory.redact.injection import orders
from memory.text.terms import STOP, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PASTED = 2_000
"""Characters of a person's message from which on only its first and its last paragraph are taken for their own words."""

LONGEST = 400
"""Characters of a sentence: what is longer is none, or says more than one thing."""

OPEN, CLOSE = "\ue000", "\ue001"
"""Around the number of what a sentence names or quotes. They stand for nothing in Unicode: it is a private area."""

_NAMED = re.compile(f"{OPEN}(\\d+){CLOSE}")
_QUOTED = re.compile(
    r"`[^`\n]{1,300}`|\u201c[^\u201d\n]{1,300}\u201d|(?<!\w)\"[^\"\n]{1,300}\"(?!\w)|(?<!\w)'[^'\n]{1,200}'(?!\w)"
)
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]{0,40})(?:\s[^<>]{0,300})?>")
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_NO_PROSE = re.compile(
    r"\s*(?:[>|#$%+@{}\]]|//|/\*|--|\.\.\.|<<|==)"  # quotations, tables, headings, commands, differences, code
    r"|\s*[\[(]?\d{2,4}[-/:.]\d\d[-/:.]\d"  # a time, as logs begin with
    r"|\s*\[?(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|TRACE)\b|\s*\w*(?:Error|Exception|Warning):"
    r"|\s*(?:File \"|Traceback|at [\w.$<>]+\(|import |from \S+ import |def |class |return |const |let \w+ ?=)"
    r"|.*[;{}]\s*$"
)
_ENDS = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)[)*_]*\s+")
_STRONG = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_WORD = re.compile(r"[^\s,;:!?()\[\]]+")


class Sentence(NamedTuple):
    """
    Attributes:
        text: As it was written, on one line.
        plain: In lower case with straight apostrophes, and what it quotes in place of its text.
        exact: Whether it names code, a number, or quotes something.
        concrete: Whether it is exact, or has a name with a capital.
    """

    text: str
    plain: str
    exact: bool
    concrete: bool


def sentences(text: str, *, typed: bool = False) -> list[Sentence]:
    """
    The sentences of a message, in order.

    Args:
        typed: A person typed it, and may have pasted much of it.
    """
    text = _untagged(text.replace(OPEN, "").replace(CLOSE, ""))
    blocks = [*_blocks(text.splitlines())]
    if typed and sum(map(len, blocks)) > PASTED:
        blocks = [blocks[0], blocks[-1]]
    return [*chain.from_iterable(map(_cut, blocks))]


def _untagged(text: str) -> str:
    """Without elements, such as what programs put into a message; a tag that nothing closes stays."""
    tags = [*_TAG.finditer(text)]
    closing: dict[str, list[int]] = defaultdict(list)
    for number, tag in enumerate(tags):
        if tag[1]:
            closing[tag[2]].append(number)
    kept, at = [], 0
    for number, tag in enumerate(tags):
        ends = closing[tag[2]]
        end = bisect(ends, number)
        if tag.start() < at or tag[1] or end == len(ends):
            continue
        kept.append(text[at : tag.start()])
        at = tags[ends[end]].end()
    return "\n".join([*kept, text[at:]])


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Paragraphs and items of lists, each as one line."""
    block: list[str] = []
    fenced = False
    for line in lines:
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        bullet = _BULLET.match(line)
        code = line.startswith(("    ", "\t")) and not (bullet or block)
        if fence or fenced or code or not line.strip() or (not bullet and _NO_PROSE.match(line)):
            yield from _joined(block)
            block = []
            continue
        if bullet:
            yield from _joined(block)
            block = []
        block.append(line[bullet.end() :] if bullet else line)
    yield from _joined(block)


def _joined(block: list[str]) -> Iterator[str]:
    if text := " ".join(" ".join(block).split()):
        yield text


def _cut(block: str) -> Iterator[Sentence]:
    quoted: list[str] = []

    def put_away(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return f"{OPEN}{len(quoted) - 1}{CLOSE}"

    for one in _ENDS.split(_QUOTED.sub(put_away, _STRONG.sub("", block))):
        text = _NAMED.sub(lambda found: quoted[int(found[1])], one).strip()
        if text and len(text) <= LONGEST:
            exact = OPEN in one or any(map(_exact, _words(one)))
            plain = _NAMED.sub(OPEN, one).strip().lower().replace("\u2019", "'")
            yield Sentence(text, plain, exact, exact or any(map(_capital, _words(one)[1:])))


def _words(text: str) -> list[str]:
    return [word.strip(".'*_") for word in _WORD.findall(_NAMED.sub(" ", text))]


def _exact(word: str) -> bool:
    return len(word) > 1 and (named(word) or "/" in word[1:] or any(map(str.isdigit, word)))


def _capital(word: str) -> bool:
    return word[:1].isupper() and word != "I" and word[:2] not in {"I'", "I\u2019"}


DECISION, RULE, CORRECTION, CAUSE = "decision", "rule", "correction", "cause"


class Cue(NamedTuple):
    """
    Attributes:
        pattern: What is searched for in `Sentence.plain`.
        assistant: It counts in what an assistant says too, if that is exact about it.
        concrete: It counts only with something concrete, whoever says it.
        lasting: It is nothing where the sentence says that it holds for a while only.
    """

    sort: str
    pattern: re.Pattern[str]
    assistant: bool = False
    concrete: bool = False
    lasting: bool = True


_SOON = r"(?:now |also |just |finally |all |already |both |therefore )?"
_WHO = r"(?:^|(?<=[,;:\u2014] )|(?<=[,;:] and )|(?<=[,;:] but )|\b(?:please|we|must|should|(?:need|have|sure) to|sure you) )"
_WANTS = r"\b(?:want|like|need|expect|remember|ask|told|tell|prefer)(?: \w+)? to "
_PAST = (
    r"(?:\w+(?:ed|ing)|(?!pass|process|access|discuss|compress|press|address|cross|miss|focus|guess|express|bypass)\w+s"
    r"|mind|again|been|got|met|had|saw|knew|made|went|came|took|gave|told|said|thought|felt|left|kept|lost|ran|wrote"
    r"|built|sent|spent|held|found|began|broke|bought|caught|chose|drew|forgot|heard|led|meant|paid|sold|spoke|stood"
    r"|taught|threw|won|worried|happy|a|an|the|in|on|at|for|to|this|that|it|quite|true|easy|worry|know|end up)\b"
)

CUES = (
    Cue(DECISION, re.compile(rf"\bwe(?:'ve| have|'d| had)? {_SOON}(?:decided|agreed|settled on|opted for|standardi[sz]ed on)\b"), assistant=True, lasting=False),
    Cue(DECISION, re.compile(rf"\b(?:we|i)(?:'ve| have)? {_SOON}(?:decided (?:on|against)|decided to (?:go with|use|keep|drop|switch|move|stay|stick|support|require|store|ship|remove|replace|not)|settled on)|\bwe(?:'ve| have)? {_SOON}(?:chose|chosen)\b"), lasting=False),
    Cue(DECISION, re.compile(r"^(?:the |our |my |final )*decision(?: is| was| made)?(?: to\b|:| that\b)"), assistant=True, lasting=False),
    Cue(DECISION, re.compile(r"^let's (?:go with|stick with|stick to|settle on|standardi[sz]e on)\b")),
    Cue(DECISION, re.compile(r"\bwe(?:'re| are)(?: no longer| not)? (?:going with|going to (?:use|stick with|stay with|keep)|dropping|standardi[sz]ing on|staying (?:on|with)|moving (?:to|off|away))\b"), concrete=True),
    Cue(DECISION, re.compile(r"\bwe(?:'ll| will) (?:use|go with|stick with|stay with|stay on|not use|never use|only support)\b"), concrete=True),
    Cue(DECISION, re.compile(r"\bwe (?:no longer (?:use|support|allow|want|ship)|(?:don't|do not) (?:use|support|allow|ship)|stopped using|(?:switched|moved|migrated) (?:\w+ ){0,4}?(?:from|to|off)|dropped (?:support|the))\b"), concrete=True),
    Cue(DECISION, re.compile(r"\bwe use\b.*\b(?:instead of|rather than|not)\b"), concrete=True),
    Cue(RULE, re.compile(r"\b(?:from (?:now|here|today) on(?:wards?)?|going forward|henceforth|in (?:all )?future (?:sessions|commits|prs))\b")),
    Cue(RULE, re.compile(rf"(?:{_WHO}|{_WANTS})(?:always|never)(?: ever)? (?!{_PAST})[a-z{OPEN}]")),
    Cue(RULE, re.compile(r"^(?:don't|do not|never) ever\b|^(?:please )?stop (?:using|adding|writing|putting|creating|making)\b|^(?:please )?(?:don't|do not) (?:ever )?(?:\w+ ){1,12}again$")),
    Cue(RULE, re.compile(r"\bi(?:'d)? (?:strongly |really |much |always |generally |usually )?prefer\b(?! to (?:wait|see|do|not))|\bmy preference is\b|\bi (?:don't|do not|never) want (?:you to|any|to see)\b|\bi (?:always )?want (?:all|every)\b")),
    Cue(RULE, re.compile(r"\b(?:our|the|my|team|project|house)(?: [\w-]+){0,3} (?:convention|rule|policy|standard|guideline)(?: here| in this repo| for [\w -]{2,30})? is (?:to|that|no|we|never|always|one)\b|^(?:convention|policy|rule|house rule)s?:|\bby convention,? we\b")),
    Cue(RULE, re.compile(r"^(?:please |and |so )?(?:remember|keep in mind|bear in mind|be aware|for the record|note to self|note|important|heads up)(?::| that\b)")),
    Cue(CAUSE, re.compile(r"\b(?:root|real|actual|underlying|true) (?:cause|reason|problem|issue|culprit)\b.{0,80}?(?: was | is | turned out to be |: )"), assistant=True),
    Cue(CAUSE, re.compile(r"\bthe (?:cause|reason|culprit|problem|bug|trick|catch|gotcha|fix)(?: (?:for|of|why|behind|with|that|it|in) [^,.;]{2,80}?)? (?:was|turned out to be)\b"), assistant=True),
    Cue(CAUSE, re.compile(r"(?<!how )(?<!if it )(?<!as it )(?<!everything )(?<!all )\b(?:turned|turns) out\b(?! (?:fine|well|ok|okay|good|great|nice|nicely|not|really|very|so|pretty|to be (?:fine|ok|nothing|harder|easier|an? (?:\w+ )?success)|like))"), assistant=True),
    Cue(CAUSE, re.compile(r"\b(?:fail|broke|crash|hung|happen|leak|timed out|stall|slow)\w*(?: \w+){0,3} because\b|\b(?:was|were) (?:being )?(?:caused by|due to|because)\b"), assistant=True),
    Cue(CAUSE, re.compile(r"^(?:lessons? learned|til|what we learned|takeaway):"), assistant=True),
)  # fmt: skip

_CORRECTED = re.compile(
    r"\b(?:use|instead|rather than|not\b.{1,60}\bbut|should (?:be|go|live|use|return|stay)|must(?: not)?|(?:is|are) called"
    r"|li(?:ve|ves) in|belongs? (?:in|to)|goes (?:in|into|under)|we (?:use|call|have|keep|don't|never|always)|never|always)\b"
)
_CONTRAST = re.compile(r"\w (?:instead of|rather than) \w")
_LEAD = re.compile(
    r"^(?:no|nope|nah|wrong|incorrect|not quite|not like that|actually|that's (?:wrong|not right|incorrect|not correct)"
    r"|that is (?:wrong|not right))(?:[,.:;!\u2014-]+ *| +(?=use\b|we\b|it\b|the\b|don't\b|never\b|always\b)|$)"
)
"""How a person begins who corrects what was just said or done."""

_OPENING = re.compile(
    r"(?:(?:ok|okay|right|so|and|but|also|hm+|yes|yeah|yep|well|please|btw|by the way|fyi|alright|great|good|thanks|cool"
    r"|thank you|perfect|sure|fine|update|one more thing|good news|bad news|found it|got it|as i said|like i said"
    r"|i said|i told you(?: to)?|i already told you(?: to)?)(?:[,.:;!\u2014-]+ *| +(?=we\b|i\b|let's\b|from\b|always\b"
    r"|never\b|don't\b|use\b|the\b|it\b|remember\b)|$))+"
)

_ASKED = re.compile(
    r"^(?:why|how|who|whose|which|should|shall|could|can|do(?! not)|does|did|is|are|was|were|would|will|has|have|may"
    r"|might|any idea|i wonder|wondering|not sure|no idea|remind me|tell me|explain|check (?:if|whether)|see if)\b"
)
_SUPPOSED = re.compile(
    r"\b(?:what if|would|could|might|may|maybe|perhaps|probably|possibly|presumably|likely|unlikely|suppose|supposing"
    r"|imagine|pretend|assume|assuming|hypothetical\w*|say we|in theory|i think|we think|i guess|i believe|i suspect|seems?"
    r"|seemed|appears?|apparently|looks like|sounds like|suspect\w*|my guess|wonder\w*|consider\w*|tempt\w*"
    r"|not sure|unsure|unclear|not yet|if only|i wish|debating|thinking (?:of|about)|leaning|proposal|propose[sd]?"
    r"|one option|option [a-d1-9]|alternatively|either)\b"
)
_REPORTED = re.compile(
    r"\b(?:says?|saying|claim(?:s|ed)|reads|writes|states?|stated|suggests?|suggested|recommends?|recommended"
    r"|warns?|mentions?|mentioned|quoted?|titled|named|labell?ed|docs?|documentation|readme|article|blog"
    r"|tutorial|book|podcast|message|log|ticket|comment|linter|string|test name|they|he|she|someone|somebody|people"
    r"|customers?|vendor|upstream|competitors?|most (?:teams|projects)|other teams|everyone|add a (?:line|sentence|rule|note)"
    r"|write|translate|rephrase|summari[sz]e|example|story|character|dialogue|lyrics|poem)\b|: *$"
)
"""What makes the rest of a sentence somebody else's, if it stands before the cue."""

_WHEN = re.compile(
    r"\b(?:if|once|when|before|after|until|unless|what|how|why|where|whether|as|than|since|in case)(?: \w+)? $"
)
_UNDONE = re.compile(
    r"\b(?:used to|previously|back then|at first|originally|initially|years? ago|in the old days|in my last job"
    r"|at my (?:old|last|previous)|nothing|undecided|haven't|hasn't|not|never|nobody) (?:\w+ )?$"
)
_OPEN_ENDED = re.compile(
    r" *(?:nothing|whether|if|what|how|when|who|where|which|anything|to (?:meet|talk|discuss|revisit|wait|see|look|think|disagree|defer|postpone))\b"
)
_PASSING = re.compile(
    r"\b(?:for now|for the moment|at the moment|this time|this once|only once|just once|right now|today|tonight|tomorrow"
    r"|this (?:week|morning|afternoon|sprint)|next (?:week|sprint|step|question|topic|item)|temporar\w+|in this (?:pr|commit|task|session|chat)"
    r"|for this (?:one|pr|commit|branch|test|file|task|demo|session|run|step)|until (?:tomorrow|later|then|i|we|you)"
    r"|first,? try|just to (?:test|see|try|check)|as a (?:quick )?(?:test|experiment)|later|in a minute|after lunch)\b"
)
_POINTING = re.compile(
    r"\b(?:that|this|these|those|it|them|one|ones|both|above|below|here|there|the (?:other|first|second|third|last|latter"
    r"|former|same|rest)(?: \w+)?|yours|mine|up to \w+)\b"
)
_CLAUSE = re.compile(r"[,;:(\u2014]| - |\b(?:because|since|so that|which|otherwise)\b")
_WORDS = re.compile(rf"[a-z][\w'-]+|\d[\w.-]*|{OPEN}")
_CUE_WORDS = frozenset(
    """decided agreed settled opted chosen chose standardized decision let's we've we're we'll use using used go going now
    always never ever prefer want remember note important root cause reason problem culprit fix turned turns instead rather
    i'd don't stop convention rule policy please nope wrong actually correct right thing things way stuff something""".split()
)

TAKEN_BACK = re.compile(
    r"^(?:actually,? no|no wait|wait,? no|scratch that|forget (?:it|that|what i)|never ?mind|ignore (?:that|my last)"
    r"|on second thoughts?|strike that|i take (?:it|that) back|changed my mind|i changed my mind|hm+,? no)\b"
)
"""How a person begins who takes back what they said before."""

REFUTED = re.compile(
    r"^(?:no\b|nope|wrong|incorrect|not (?:it|quite|true|the)|that's (?:not|wrong|incorrect)|that (?:is|was) (?:not|wrong)"
    r"|that (?:didn't|did not|doesn't|does not)|(?:it )?still (?:fail|break|broken|crash|hang|the same|not|get|see|happen|red|flak)"
    r"|same (?:error|problem|result|thing|failure)|(?:it )?(?:didn't|did not|doesn't) (?:help|work|fix|change)"
    r"|i (?:doubt|don't (?:think|believe)|disagree))"
)
"""How a person begins who refutes what the assistant said before."""

_ANY = re.compile(
    r"decid|decision|agreed|settled on|opted|standardi|chose|let's|going (?:with|to)|dropping|staying|moving|we(?:'ll| will)"
    r"|no longer|do(?:n't| not)|stopped|switched|moved|migrated|dropped|instead|rather than|, not | not |now on|here on|today on"
    r"|forward|henceforth|future|always|never|stop |prefer|i want|convention|rule|polic|standard|guideline|remember|in mind|aware"
    r"|for the record|note|important|heads up|cause|reason|problem|issue|culprit|bug|trick|catch|gotcha|fix| out |due to"
    r"|\buse\b|\bwe (?:call|have|keep)\b|lesson|til:|learned|takeaway|should|must|called|lives? in|belongs?"
)


def promising(text: str) -> bool:
    """Whether a message has a word of any cue; without, it need not be looked at."""
    return _ANY.search(text.lower().replace("\u2019", "'")) is not None


def cue(sentence: Sentence, *, person: bool, answers: bool = False, led: bool = False) -> str | None:
    """
    What sort of thing a sentence says that is worth keeping, or None.

    Args:
        person: A person says it; otherwise an assistant.
        answers: It begins a message that follows an assistant's: "no" is about what that says or did.
        led: It follows such a "No.", see `leads`.
    """
    plain = _OPENING.sub("", sentence.plain, count=1) if _OPENING.match(sentence.plain) else sentence.plain
    if plain.rstrip(")*_\"' ").endswith("?") or _ASKED.match(plain):
        return None
    found = _found(plain, sentence, person=person)
    if found is None and person and answers:
        found = _correction(plain, sentence, led=led)
    return None if found and orders(sentence.text) else found


def leads(sentence: Sentence) -> bool:
    """Whether it says no more than "No." or "Wrong": what follows corrects."""
    lead = _LEAD.match(sentence.plain)
    return lead is not None and lead.end() == len(sentence.plain)


def statement(sentence: Sentence) -> str:
    """A sentence without the words by which a person begins to speak: "ok", "no," and such."""
    start = 0
    for opening in (_OPENING, _LEAD):
        found = opening.match(sentence.plain[start:])
        start += found.end() if found else 0
    rest = sentence.text[start:] or sentence.text
    return rest[:1].upper() + rest[1:] if start else rest


def _found(plain: str, sentence: Sentence, *, person: bool) -> str | None:
    for one in CUES:
        if not (person or (one.assistant and sentence.exact)) or (one.concrete and not sentence.concrete):
            continue
        match = one.pattern.search(plain)
        if match is not None and _counts(plain, match, one, sentence):
            return one.sort
    return None


def _counts(plain: str, match: re.Match[str], one: Cue, sentence: Sentence) -> bool:
    before = plain[: match.start()]
    clause = _CLAUSE.search(plain, match.end())
    until = plain[: clause.start() if clause else len(plain)]
    if (
        _SUPPOSED.search(until)
        or "according to" in plain
        or _REPORTED.search(before)
        or _WHEN.search(before)
        or _UNDONE.search(before)
    ):
        return False
    if one.lasting and one.sort != CAUSE and _PASSING.search(plain):
        return False
    if one.sort == DECISION and (_OPEN_ENDED.match(plain, match.end()) or _PASSING.search(until)):
        return False
    return _stands_alone(plain, plain[match.end() :] if one.sort != RULE else before + plain[match.end() :], sentence)


def _correction(plain: str, sentence: Sentence, *, led: bool) -> str | None:
    lead = _LEAD.match(plain)
    if lead is None and not led:
        return None
    rest = plain[lead.end() :] if lead else plain
    match = _CORRECTED.search(rest)
    if match is None or _ASKED.match(rest) or not (sentence.concrete or _CONTRAST.search(rest)):
        return None
    if _SUPPOSED.search(rest) or _REPORTED.search(rest[: match.start()]) or _PASSING.search(rest):
        return None
    return CORRECTION if _stands_alone(plain, rest, sentence) else None


def _stands_alone(plain: str, rest: str, sentence: Sentence) -> bool:
    """Whether somebody who did not hear the rest of the conversation can tell what a sentence is about."""
    words = {word for word in _WORDS.findall(plain) if word not in STOP and word not in _CUE_WORDS}
    if len(words) < 2:
        return False
    least = 2 if _CONTRAST.search(rest) else 3
    return sentence.concrete or len(words) >= 4 or (len(words) >= least and _POINTING.search(rest) is None)
