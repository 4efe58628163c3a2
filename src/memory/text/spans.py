"""
The time that a question names: "last week", "in October", "since March 3", "between 2.1 and 2.2", "the latest decision".

English, German, French and Spanish. A pure function: text and moment in, the time and the rest of the question out. The rules
are our own: `dateparser` knows moments and no spans, takes longer to read a question than a search takes, and finds a date in
"may I deploy" and "rule for Friday deploys". What is a time only by chance is none: words in quotation marks, a month without a
preposition ("march past"), a weekday in a question that does not speak of the past.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.text.terms import folded

if TYPE_CHECKING:
    from datetime import tzinfo

DAY = timedelta(days=1)


class NamedTime(NamedTuple):
    """
    The time that a question names.

    Attributes:
        rest: The question without the words of time.
        words: Those words.
        since, until: A span in UTC, `since` included, `until` not; None is no bound.
        after, before: What happened at a bound that is no date, as the question calls it: "2.1", "the hail net was hung".
        order: "latest" or "oldest" if what is asked for is the last or the first of several.
        names: Phrases of the word for the order and of one beside it: where a memory has one, it is a name and no time.
        revised: Whether it is asked for what was changed then, not for what happened.
    """

    rest: str
    words: str
    since: datetime | None = None
    until: datetime | None = None
    after: str = ""
    before: str = ""
    order: str = ""
    names: tuple[str, ...] = ()
    revised: bool = False


class Period(NamedTuple):
    """A time in local days, `first` included, `end` not; and the place of the word behind those that name it."""

    next: int
    first: datetime
    end: datetime


# Words, folded ------------------------------------------------------------------


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _numbered(rows: str, first: int = 1, step: int = 1) -> dict[str, int]:
    """By each word of a row its number."""
    return {word: first + step * number for number, row in enumerate(rows.split("|")) for word in row.split()}


MONTHS = _numbered("""
    january jan januar janner janvier enero | february feb februar fevrier febrero | march mar marz mars marzo
    | april apr avril abril | may mai mayo | june jun juni juin junio | july jul juli juillet julio | august aug aout agosto
    | september sep sept septembre septiembre setiembre | october oct oktober okt octobre octubre
    | november nov novembre noviembre | december dec dezember dez decembre diciembre
""")
AMBIGUOUS = _set("may march mar mars mai august jan jun sep sept")
"""Months that are other words, or names, too."""

WEEKDAYS = _numbered("""
    monday montag lundi lunes | tuesday dienstag mardi martes | wednesday mittwoch mercredi miercoles
    | thursday donnerstag jeudi jueves | friday freitag vendredi viernes | saturday samstag sonnabend samedi sabado
    | sunday sonntag dimanche domingo
""")
SEASONS = _numbered(
    """
    spring fruhling fruhjahr printemps primavera | summer sommer ete verano | autumn fall herbst automne otono
    | winter hiver invierno
    """,
    first=3,
    step=3,
)
"""By the month in which they begin."""

UNITS = {
    word: row.split()[0]
    for row in """
        day days tag tage tagen tages jour jours dia dias | week weeks woche wochen semaine semaines semana semanas
        | month months monat monats monate monaten mois mes meses | quarter quarters quartal quartals trimestre trimestres
        | year years jahr jahres jahre jahren an ans annee annees ano anos | weekend weekends wochenende
    """.split("|")
    for word in row.split()
}
MARGINS = {"day": 0, "week": 3, "weekend": 3, "month": 15, "quarter": 45, "year": 45}
"""Days by which something that happened so long ago may be off."""

NUMBERS = _numbered("""
    a an one ein eine einem einen einer un une uno una | two couple zwei deux dos | three few drei paar trois tres
    | four vier quatre cuatro | five funf cinq cinco | six sechs seis | seven sieben sept siete | eight acht huit ocho
    | nine neun neuf nueve | ten zehn dix diez | eleven elf onze once | twelve zwolf douze doce
""") | {
    "fourteen": 14,
    "vierzehn": 14,
    "quatorze": 14,
    "catorce": 14,
    "thirty": 30,
    "dreissig": 30,
    "trente": 30,
    "treinta": 30,
}
ORDINALS = _numbered("""
    first 1st erste ersten erstes erster premier premiere primer primera primero
    | second 2nd zweite zweiten zweites zweiter deuxieme segundo segunda
    | third 3rd dritte dritten drittes dritter troisieme tercer tercera tercero
    | fourth 4th vierte vierten viertes vierter quatrieme cuarto cuarta
""")

DAYS_BACK = {
    ("yesterday",): 1, ("gestern",): 1, ("hier",): 1, ("ayer",): 1, ("today",): 0, ("heute",): 0, ("hoy",): 0,
    ("aujourd", "hui"): 0, ("vorgestern",): 2, ("anteayer",): 2, ("antier",): 2, ("avant", "hier"): 2,
    ("day", "before", "yesterday"): 2, ("this", "morning"): 0, ("this", "afternoon"): 0, ("this", "evening"): 0,
    ("heute", "fruh"): 0, ("heute", "morgen"): 0, ("ce", "matin"): 0, ("esta", "manana"): 0,
}  # fmt: skip
NIGHT = {("last", "night"), ("gestern", "abend"), ("letzte", "nacht"), ("hier", "soir"), ("anoche",)}

LAST = _set("""
    last past previous letzte letzten letzter letztes letztem vorige vorigen voriger voriges vorigem vergangene vergangenen
    vergangener vergangenes dernier derniere ultimo ultima pasado pasada
""")
LAST_FEW = _set("last past previous letzten vergangenen dernieres derniers ultimos ultimas")
THIS = _set("this diese diesen dieser dieses diesem ce cet cette este esta")
PASSED = _set("dernier derniere derniers dernieres passe passee pasado pasada pasados pasadas")
"""Behind a unit, in French and Spanish."""
BEFORE_LAST = _set("vorletzte vorletzten vorletzter vorletztes vorletztem")

ABOUT = _set("about around etwa ungefahr circa environ unos unas aproximadamente some")
COUNTING = _set("of couple few paar")
SINCE, UNTIL = _set("since seit depuis desde"), _set("until till bis jusqu hasta")
BEFORE, AFTER = _set("before vor avant antes"), _set("after nach apres despues")
BETWEEN, AND = _set("between zwischen entre"), _set("and und et y e")
FROM, TO = _set("from von vom de du desde"), _set("to until till through bis a au hasta jusqu")
ON = _set("on am le el")
ARTICLES = _set("the of der die das dem den des la le les l el los las de du del d a im au zum")
IN = ARTICLES - {"a"} | _set("in on during within am wahrend en pendant durante from at around about um s for vom von")
"""What stands before a time, and says nothing without it."""
OF = _set("of de d du from von vom")
FIRM = OF - {"of"} | SINCE | UNTIL | BEFORE | AFTER | _set("in during im wahrend en pendant durante early late mid")
"""What makes a month a time, though no year stands beside it."""

EARLY = _set("early beginning start anfang beginn debut principios comienzos inicios")
MIDDLE = _set("mid middle mitte mi milieu mediados")
LATE = _set("late end ende fin finales fines")
HALF = _set("half halfte semestre halbjahr moitie mitad")

PAST = _set("""
    did was were had has have happened went got came been gone shipped
    war waren wurde wurden hat haben hatte hatten habe gab kam kamen passierte geschah ging
    avons ont etait etaient avait passe
    fue fueron hubo paso ha han hemos era eran ocurrio hicimos decidimos acordamos
""")
"""By which a question speaks of the past: "on Friday" may else be any Friday."""
FRENCH = _set("qu que quel quelle quels quelles qui nous avons est a le la les l d du des pourquoi ou comment")
GERMAN = _set("ist wo der das wir und ich sind")

LATEST = _set("latest newest neueste neuesten neuester neuestes neuestem jungste jungsten aktuellste aktuellsten")
OLDEST = _set("oldest earliest alteste altesten altester altestes fruheste fruhesten")
RECENTLY = _set("recently lately kurzlich neulich zuletzt recemment recientemente ultimamente dernierement")
LAST_OF = _set("last letzte letzten letzter letztes dernier derniere ultimo ultima")
FIRST_OF = _set("first erste ersten erster erstes premier premiere primer primera")
MOST = _set("most plus mas")
RECENT = _set("recent recente recents recently reciente recientes")
OLD = _set("ancien ancienne antigua antiguo")
ORDERING = LATEST | OLDEST | RECENTLY | LAST_OF | FIRST_OF | MOST
NOTED = _set("""
    note notes entry entries memory memories decision decisions bug bugs release version notiz eintrag entscheidung fehler ausfall
    nota entrada
""")
NOTING = _set("noted wrote saved recorded notiert gespeichert note enregistre apuntamos guardamos")
"""By one of which "the first" and "the last" are of the memories: many questions have them for other things."""
NAMING = 3
"""Letters of a word that may be part of a name."""

WERE = _set("was were is are had has been wurde wurden war waren a fut etait fue fueron")
VERSION = _set("release version v fassung")
POSSESSIVE = _set(
    "its their his her our my ihre ihrer ihrem unsere unserem unserer sa son leur notre su nuestra nuestro"
)
QUESTION = _set("""
    which what when who where how welche welcher welches wann wer was wo quel quelle quels quelles quand qui que cual cuales cuando
""")
REVISED = _set("""
    revised changed updated edited modified uberarbeitet geandert aktualisiert modifie modifiee revise revisee cambiado
    actualizado modificado revisado
""")

_TOKEN = re.compile(r"\d+(?:[.:/\-]\d+)+|[^\W_]+")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|‘[^’]*’|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_YEAR = re.compile(r"(19|20)\d\d")


# The calendar -------------------------------------------------------------------


def _start(unit: str, day: datetime) -> datetime:
    """The first day of the unit that a day is in; of a weekend, the Saturday of its week."""
    match unit:
        case "week":
            return day - day.weekday() * DAY
        case "weekend":
            return day - (day.weekday() - 5) * DAY
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)
    return day


def _shifted(unit: str, day: datetime, count: int) -> datetime:
    """A day some units later; in a shorter month its last day. As far as there are years."""
    if unit in {"month", "quarter", "year"}:
        months = day.year * 12 + day.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[unit]
        months = min(max(months, 12), 9998 * 12)
        first = day.replace(year=months // 12, month=months % 12 + 1, day=1)
        last = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1) - DAY
        return min(first + (day.day - 1) * DAY, last)
    return day + count * (7 * DAY if unit in {"week", "weekend"} else DAY)


class _Reader:
    """A question, word by word, and the moment it is asked at, in local time."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text, self.now = text, now
        self.today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        quoted = [match.span() for match in _QUOTED.finditer(text)]
        self.places = [match.span() for match in _TOKEN.finditer(text)]
        self.words = [
            "" if any(first <= start < end for first, end in quoted) else folded(text[start:stop])
            for start, stop in self.places
        ]
        self.past = not PAST.isdisjoint(self.words)
        self.french = not FRENCH.isdisjoint(self.words) and GERMAN.isdisjoint(self.words)  # hier: yesterday, or here

    def at(self, n: int) -> str:
        return self.words[n] if 0 <= n < len(self.words) else ""

    def skip(self, n: int, words: frozenset[str] = ARTICLES) -> int:
        while self.at(n) in words:
            n += 1
        return n

    def between(self, n: int, end: int) -> str:
        """The text of words."""
        return self.text[self.places[n][0] : self.places[end - 1][1]]

    def capital(self, n: int) -> bool:
        """Whether a word that is not the first has a capital, as names have: the Yesterday button."""
        return n > 0 and self.text[self.places[n][0]].isupper()

    def parted(self, n: int) -> bool:
        """Whether a comma or the like stands before a word."""
        return bool(re.search(r"[,;:?!]|\.\s", self.text[self.places[n - 1][1] : self.places[n][0]]))

    def number(self, n: int) -> int:
        word = self.at(n)
        return int(word) if word.isascii() and word.isdigit() and len(word) <= 3 else NUMBERS.get(word, 0)

    # A time ---------------------------------------------------------------------

    def period(self, n: int, lead: str = "") -> Period | None:
        """
        The time that begins with a word, if one does.

        Args:
            lead: The preposition before it; without one, many words are no time.
        """
        if not self.at(n):
            return None
        return (
            self._day_back(n)
            or self.ago(n)
            or self._last_few(n)
            or self._counted(n, lead)
            or self._part(n)
            or self._quarter(n)
            or self._date(n)
            or self._month(n, lead)
        )

    def _day_back(self, n: int) -> Period | None:
        """Yesterday, the day before yesterday, this morning, last night."""
        for length in (1, 2, 3):
            words = tuple(self.words[n : n + length])
            if words in NIGHT:
                return Period(n + length, self.today - DAY / 4, self.today + DAY / 4)
            back = DAYS_BACK.get(words)
            if back is not None and not self.capital(n) and (words[0] != "hier" or self.french):
                return Period(n + length, self.today - back * DAY, self.today - (back - 1) * DAY)
        return None

    def ago(self, n: int) -> Period | None:
        """Three weeks ago, vor drei Wochen, il y a trois semaines, hace tres semanas."""
        before = 1 if self.at(n) in {"vor", "hace"} else 3 if self.words[n : n + 3] == ["il", "y", "a"] else 0
        n = self.skip(n + before, ABOUT)
        count = self.number(n)
        n = self.skip(n + 1, COUNTING)
        unit = UNITS.get(self.at(n))
        if not count or unit is None or not (before or self.at(n + 1) == "ago"):
            return None
        moment, margin = _shifted(unit, self.today, -count), MARGINS[unit] * DAY
        return Period(n + 1 if before else n + 2, moment - margin, moment + margin + DAY)

    def _last_few(self, n: int) -> Period | None:
        """The last seven days, les 7 derniers jours."""
        word, following = self.at(n), self.at(n + 1)
        place = n + 1 if word in LAST_FEW else n
        count = self.number(place) if word in LAST_FEW or following in LAST_FEW else 0
        if not count or (unit := UNITS.get(self.at(n + 2))) is None:
            return None
        return Period(n + 3, _shifted(unit, self.today, -count), self.now + timedelta(seconds=1))

    def _counted(self, n: int, lead: str) -> Period | None:
        """Last week, this summer, le mois dernier, the winter before last; on Monday, if the past is spoken of."""
        word, following = self.at(n), self.at(n + 1)
        for words, back in ((BEFORE_LAST, -2), (LAST, -1), (THIS, 0)):
            if word in words:
                return self._back(n + 1, back)
        if self.words[n + 1 : n + 3] == ["before", "last"]:
            found = self._back(n, -2)
            return found and found._replace(next=n + 3)
        if following in PASSED:
            found = self._back(n, -1)
            return found and found._replace(next=n + 2)
        if lead and self.past:
            if word in WEEKDAYS and lead in ON and following not in UNITS:
                return self._back(n, -1)
            if UNITS.get(word) == "weekend":
                return self._back(n, 0 if _start("weekend", self.today) <= self.now else -1)
        return None

    def _back(self, n: int, back: int) -> Period | None:
        """A unit, weekday, month or season: 0 is this one, or the last that has begun, -1 the last, -2 that before."""
        word = self.at(n)
        if self.words[n : n + 3] == ["fin", "de", "semana"]:
            n, word = n + 2, "weekend"
        if (unit := UNITS.get(word, "day")) != "day":
            first = _shifted(unit, _start(unit, self.today), back)
            return Period(n + 1, first, first + 2 * DAY if unit == "weekend" else _shifted(unit, first, 1))
        if word in WEEKDAYS:
            day = _start("week", self.today) + (WEEKDAYS[word] - 1) * DAY
            if back:
                day += (back + (day < self.today)) * 7 * DAY
            return Period(n + 1, day, day + DAY)
        if (month := MONTHS.get(word) or SEASONS.get(word)) is None:
            return None
        months = 1 if word in MONTHS else 3
        found = self._months(n + 1, self._last_year(month, months if back else 0), month, months)
        years = min(0, back + 1)
        return found._replace(first=_shifted("year", found.first, years), end=_shifted("year", found.end, years))

    def _part(self, n: int) -> Period | None:
        """Early June, the end of 2024, the second half of 2025."""
        word = self.at(n)
        if self.at(n + 1) in HALF and (half := ORDINALS.get(word, 3)) <= 2 and (year := self._year(n + 2)) is not None:
            return self._months(year[0], year[1], 6 * half - 5, 6)
        for place, words in enumerate((EARLY, MIDDLE, LATE)):
            if word not in words:
                continue
            begins = self.skip(n + 1)
            whole = self.period(begins, "in") or self._whole_year(begins)
            if whole is None or whole.end - whole.first < 20 * DAY:
                return None
            length = (whole.end - whole.first).days // (3 if whole.end - whole.first < 100 * DAY else 6) * DAY
            first = (whole.first, whole.first + (whole.end - whole.first - length) // 2, whole.end - length)[place]
            return Period(whole.next, first, first + length)
        return None

    def _quarter(self, n: int) -> Period | None:
        """Q3, the third quarter of 2025."""
        word = self.at(n)
        if len(word) == 2 and word[0] == "q" and word[1] in "1234":
            return self._yearly(n + 1, 3 * int(word[1]) - 2, 3)
        if word in ORDINALS and UNITS.get(self.at(n + 1)) == "quarter":
            return self._yearly(n + 2, 3 * ORDINALS[word] - 2, 3)
        return None

    def _date(self, n: int) -> Period | None:
        """2026-03-03, 3.3.2026, 2026-03, 3 March, March 3rd 2026; what may be read in two ways is none."""
        word = self.at(n)
        if not word[:1].isdigit():
            day = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", self.at(n + 1))
            return self._day_of(n + 2, MONTHS[word], int(day[1])) if day and word in MONTHS else None
        if found := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", word):
            return self._day(n + 1, *map(int, found.groups()))
        if found := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", word):
            return self._day(n + 1, *map(int, found.groups()[::-1]))
        if (found := re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", word)) and int(found[1]):
            return self._months(n + 1, int(found[1]), int(found[2]), 1)
        day = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|er)?", word)
        place = self.skip(n + 1, OF)
        return (
            self._day_of(place + 1, MONTHS[self.at(place)], int(day[1])) if day and self.at(place) in MONTHS else None
        )

    def _month(self, n: int, lead: str) -> Period | None:
        """In October, May last year, summer 2025, in 2024."""
        word = self.at(n)
        firm = lead in FIRM and not (word in AMBIGUOUS and lead in OF)
        if word in MONTHS and (firm or self._year(n + 1) is not None):
            return self._yearly(n + 1, MONTHS[word], 1)
        if word in SEASONS and ((firm and self.past) or _YEAR.fullmatch(self.at(self.skip(n + 1)))):
            return self._yearly(n + 1, SEASONS[word], 3)
        if lead and _YEAR.fullmatch(word) and int(word) <= self.now.year:
            start, stop = self.places[n]
            alone = {self.text[start - 1 : start], self.text[stop : stop + 1]}.isdisjoint("$€#-%/")
            return self._whole_year(n) if alone else None
        return None

    # Its parts --------------------------------------------------------------------

    def _year(self, n: int) -> tuple[int, int] | None:
        """The place behind a year that stands here, and the year: 2025, of last year, l'annee derniere."""
        n = self.skip(n)
        word, following = self.at(n), self.at(n + 1)
        if _YEAR.fullmatch(word):
            return n + 1, int(word)
        if UNITS.get(following) == "year" and (word in LAST or word in THIS):
            return n + 2, self.now.year - (word in LAST)
        if UNITS.get(word) == "year" and following in PASSED:
            return n + 2, self.now.year - 1
        return None

    def _whole_year(self, n: int) -> Period | None:
        return None if (year := self._year(n)) is None else self._months(year[0], year[1], 1, 12)

    def _yearly(self, n: int, month: int, months: int) -> Period:
        """Months of the year that is named behind them, or else the last that have begun."""
        place, year = self._year(n) or (n, self._last_year(month))
        return self._months(place, year, month, months)

    def _last_year(self, month: int, months: int = 0) -> int:
        """The last year of which so many months, from one on, are over."""
        return self.now.year - (_shifted("month", self.today.replace(month=month, day=1), months) > self.now)

    def _months(self, n: int, year: int, month: int, months: int) -> Period:
        first = self.today.replace(year=year, month=month, day=1)
        return Period(n, first, _shifted("month", first, months))

    def _day_of(self, n: int, month: int, day: int) -> Period | None:
        """A day of the year that is named behind it, or else the last that has begun."""
        place = self.skip(n)
        if _YEAR.fullmatch(self.at(place)):
            return self._day(place + 1, int(self.at(place)), month, day)
        found = self._day(n, self.now.year, month, day)
        return self._day(n, self.now.year - 1, month, day) if found is None or found.first > self.now else found

    def _day(self, n: int, year: int, month: int, day: int) -> Period | None:
        try:
            return Period(n, first := self.today.replace(year=year, month=month, day=day), first + DAY)
        except (ValueError, OverflowError):  # there is no such day, or none after it
            return None

    # What happened at a bound -------------------------------------------------------

    def event(self, n: int, stops: frozenset[str] = frozenset()) -> tuple[int, str] | None:
        """
        What a question calls something that happened, and the place behind it: "2.1 was released", "release 2.2", "its
        rejection", "the hail net was hung".

        Args:
            stops: Words before which it ends.
        """
        begins = self.skip(n)
        if not self.at(begins) or self.at(begins) in QUESTION | WERE:
            return None
        n = self.skip(begins, VERSION)
        if re.fullmatch(r"v?\d+(\.\d+)+" if n == begins else r"v?\d+(\.\d+)*", self.at(n)):
            return n + 3 if self.at(n + 1) in WERE else n + 1, self.at(n).removeprefix("v")
        end = begins + 1
        while self.at(end) and self.at(end) not in stops and not self.parted(end):
            end += 1
        its = self.at(begins) in POSSESSIVE and end - begins <= 3
        clause = not stops and end - begins >= 3 and not WERE.isdisjoint(self.words[begins:end])
        return (end, self.between(begins, end)) if its or clause else None


class _Span:
    """What of a question was read so far."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.used: set[int] = set()
        self.since: datetime | None = None
        self.until: datetime | None = None
        self.after = self.before = ""

    def narrow(self, first: datetime | None, end: datetime | None) -> None:
        if first is not None:
            self.since = max(self.since or first, first)
        if end is not None:
            self.until = min(self.until or end, end)

    def read(self) -> None:
        n = 0
        while n < len(self.reader.words):
            end = self._between(n) or self._bounded(n) or self._plain(n)
            if end is None:
                n += 1
                continue
            begins = n
            while self.reader.at(begins - 1) in IN and begins - 1 not in self.used and not self.reader.parted(begins):
                begins -= 1
            self.used.update(range(begins, min(end, len(self.reader.words))))
            n = end

    def _between(self, n: int) -> int | None:
        """Between June and August 2026, from April to June, between 2.1 and 2.2; the place behind it."""
        reader, word = self.reader, self.reader.at(n)
        if word not in BETWEEN | FROM:
            return None
        ends = AND if word in BETWEEN else TO
        if (first := reader.period(reader.skip(n + 1), "in")) is not None:
            last = (
                reader.period(reader.skip(first.next, ends | ARTICLES), "in") if reader.at(first.next) in ends else None
            )
            if last is None:
                return None
            begins = first.first
            if begins.year > last.first.year:  # "between February and May 2025"
                begins = begins.replace(year=last.first.year)
            self.narrow(_shifted("year", begins, -1) if begins > last.first else begins, last.end)
            return last.next
        if word in FROM or (event := reader.event(n + 1, ends)) is None or reader.at(event[0]) not in ends:
            return None
        if (other := reader.event(event[0] + 1)) is None:
            return None
        self.after, self.before = event[1], other[1]
        return other[0]

    def _bounded(self, n: int) -> int | None:
        """Since March 3, before 2.1 was released; the place behind it."""
        reader, word = self.reader, self.reader.at(n)
        if word not in SINCE | BEFORE | AFTER | UNTIL or reader.ago(n) is not None:
            return None
        if (found := reader.period(reader.skip(n + 1), word) or self._dated(n + 1)) is not None:
            first = found.first if word in SINCE else found.end if word in AFTER else None
            self.narrow(first, found.first if word in BEFORE else found.end if word in UNTIL else None)
            return found.next
        if (event := reader.event(n + 1)) is None:
            return None
        if word in SINCE | AFTER:
            self.after = event[1]
        else:
            self.before = event[1]
        return event[0]

    def _dated(self, n: int) -> Period | None:
        """The time of something that happened: the release of 1 March, the outage on Monday."""
        reader = self.reader
        begins = reader.skip(n)
        if begins == n:
            return None
        for place in (begins + 1, begins + 2):
            if reader.at(place) in OF | ON and not any(map(reader.parted, range(begins, place + 1))):
                return reader.period(reader.skip(place + 1), reader.at(place))
        return None

    def _plain(self, n: int) -> int | None:
        """A time by itself, or behind a preposition; the place behind it."""
        reader = self.reader
        lead = reader.at(n - 1) if reader.at(n - 1) in IN else ""
        if lead in ARTICLES - ON - {"im"} and reader.at(n - 2) in IN:
            lead = reader.at(n - 2)
        if (found := reader.period(n, lead)) is None:
            return None
        self.narrow(found.first, found.end)
        return found.next

    def order(self) -> tuple[str, tuple[str, ...]]:
        """Whether the last or the first is asked for, and phrases of its word and one beside it."""
        reader, used = self.reader, self.used
        bounded = bool(used)
        noted = not NOTING.isdisjoint(reader.words)
        for n, word in enumerate(reader.words):
            if n in used or word not in ORDERING:
                continue
            following = reader.at(n + 1) if n + 1 not in used else ""
            if word in MOST and following in RECENT | OLD and not reader.capital(n + 1):
                used.update((n, n + 1))
                return "latest" if following in RECENT else "oldest", ()
            if word in RECENTLY:
                used.add(n)
                return "latest", ()
            named = bool(following) and not reader.parted(n + 1) and not reader.capital(n)
            firm = word in LATEST | OLDEST
            counted = word in LAST_OF | FIRST_OF and following not in HALF and not reader.number(n + 1)
            if (named and (firm or (counted and (following in NOTED or noted)))) or (counted and bounded):
                used.add(n)
                names = tuple(f"{word} {one}" for one in (following, reader.at(n - 1)) if len(one) >= NAMING)
                return "latest" if word in LATEST | LAST_OF else "oldest", names
        return "", ()

    def words(self) -> str:
        """Those of time, as they stand."""
        runs: list[list[int]] = []
        for n in sorted(self.used):
            if runs and runs[-1][-1] == n - 1:
                runs[-1].append(n)
            else:
                runs.append([n])
        return " … ".join(self.reader.between(run[0], run[-1] + 1) for run in runs)

    def rest(self) -> str:
        """The question without them."""
        left, at = [], 0
        for n in sorted(self.used):
            start, stop = self.reader.places[n]
            left.append(self.reader.text[at:start])
            at = stop
        left.append(self.reader.text[at:])
        plain = re.sub(r"(?<!\w)(['’]s?|[.,;:])(?!\w)", " ", " ".join(left))  # the end of "last week's"
        return " ".join(plain.split()).strip(" ,")


def read(text: str, now: datetime, zone: tzinfo | None = None) -> NamedTime | None:
    """
    The time that a question names, None if it names none.

    A month, quarter or season without a year is the last one that has begun, "last summer" the last that has ended; a week
    begins on Monday; "last Friday" is the one before today. How long ago a thing was is meant the less exactly the longer it
    is: "three weeks ago" is a week, "a year ago" three months.

    Args:
        now: When it is asked, with an offset.
        zone: Of whoever asks; by default that of this machine.
    """
    reader = _Reader(text, now.astimezone(zone).replace(tzinfo=None))
    span = _Span(reader)
    span.read()
    order, names = span.order()
    if not span.used:
        return None

    def utc(moment: datetime | None) -> datetime | None:
        if moment is None:
            return None
        return (moment.replace(tzinfo=zone) if zone else moment.astimezone()).astimezone(UTC)

    dated = span.since or span.until
    return NamedTime(
        span.rest(),
        span.words(),
        utc(span.since),
        utc(span.until),
        span.after,
        span.before,
        order,
        names,
        revised=bool(dated) and not REVISED.isdisjoint(reader.words),
    )
