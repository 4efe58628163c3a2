"""
The time that a question names: "last week", "in October", "since March 3", "between 2.1 and 2.2", "the latest decision".

English, German, French and Spanish. A pure function: text and moment in, the time and the rest of the question out. Rules of our
own: `dateparser` takes a quarter of a second to start, and knows moments, not spans. What is a time only by chance is none:
words in quotation marks, a month without a preposition ("march past"), a weekday in a question that does not speak of the past.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

DAY = timedelta(days=1)


class Asked(NamedTuple):
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
    """A time in local days: `first` is part of it, `end` is not."""

    next: int
    first: datetime
    end: datetime


def _numbered(*names: str) -> Mapping[str, int]:
    return {name: number for number, row in enumerate(names, 1) for name in row.split()}


MONTHS = _numbered(
    "january jan januar janner janvier enero", "february feb februar fevrier febrero", "march mar marz mars marzo",
    "april apr avril abril", "may mai mayo", "june jun juni juin junio", "july jul juli juillet julio",
    "august aug aout agosto", "september sep sept septembre septiembre setiembre", "october oct oktober okt octobre octubre",
    "november nov novembre noviembre", "december dec dezember dez decembre diciembre",
)  # fmt: skip
WEEKDAYS = _numbered(
    "monday montag lundi lunes", "tuesday dienstag mardi martes", "wednesday mittwoch mercredi miercoles",
    "thursday donnerstag jeudi jueves", "friday freitag vendredi viernes", "saturday samstag sonnabend samedi sabado",
    "sunday sonntag dimanche domingo",
)  # fmt: skip
SEASONS = {
    name: month
    for month, row in (
        (3, "spring fruhling fruhjahr printemps primavera"), (6, "summer sommer ete verano"),
        (9, "autumn fall herbst automne otono"), (12, "winter hiver invierno"),
    )
    for name in row.split()
}  # fmt: skip
UNITS = {
    name: unit
    for unit, row in (
        ("day", "day days tag tage tagen tages jour jours dia dias"), ("week", "week weeks woche wochen semaine semaines semana semanas"),
        ("month", "month months monat monats monate monaten mois mes meses"), ("quarter", "quarter quarters quartal quartals trimestre trimestres"),
        ("year", "year years jahr jahres jahre jahren an ans annee annees ano anos"), ("weekend", "weekend weekends wochenende"),
    )
    for name in row.split()
}  # fmt: skip
NUMBERS = {
    name: number
    for number, row in (
        (1, "a an one ein eine einem einen einer un une uno una"), (2, "two couple zwei deux dos"), (3, "three few drei paar trois tres"),
        (4, "four vier quatre cuatro"), (5, "five funf cinq cinco"), (6, "six sechs seis"), (7, "seven sieben sept siete"),
        (8, "eight acht huit ocho"), (9, "nine neun neuf nueve"), (10, "ten zehn dix diez"), (12, "twelve zwolf douze doce"),
        (14, "fourteen vierzehn quatorze catorce"), (20, "twenty zwanzig vingt veinte"), (30, "thirty dreissig dreisig trente treinta"),
    )
    for name in row.split()
}  # fmt: skip
ORDINALS = _numbered(
    "first 1st erste ersten erstes erster premier premiere primer primera primero", "second 2nd zweite zweiten zweites zweiter deuxieme segundo segunda",
    "third 3rd dritte dritten drittes dritter troisieme tercer tercera tercero", "fourth 4th vierte vierten viertes vierter quatrieme cuarto cuarta",
)  # fmt: skip


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


AMBIGUOUS = _set("may march mar mars mai august jan jun sep sept")
"""Months that are other words, or names, too."""
LAST = _set("last past previous letzte letzten letzter letztes letztem vorige vorigen voriger voriges vorigem vergangene vergangenen vergangener vergangenes dernier derniere ultimo ultima pasado pasada")
PAST_N = _set("last past previous letzten vergangenen dernieres derniers ultimos ultimas")
THIS = _set("this diese diesen dieser dieses diesem ce cet cette este esta")
PASSED = _set("dernier derniere derniers dernieres passe passee pasado pasada pasados pasadas")
"""Behind the unit, in French and Spanish."""
BEFORE_LAST = _set("vorletzte vorletzten vorletzter vorletztes vorletztem")
TODAY = _set("today heute hoy")
SINCE, UNTIL = _set("since seit depuis desde"), _set("until till bis jusqu hasta")
BEFORE, AFTER = _set("before vor avant antes"), _set("after nach apres despues")
BETWEEN, AND = _set("between zwischen entre"), _set("and und et y e")
FROM, TO = _set("from von vom de du desde"), _set("to until till through bis a au hasta jusqu")
IN = _set("in on during within im am wahrend en au pendant durante el le la les los of from de du del des d l den dem der die das the at around about gegen um vers hacia sobre s for vom von")
"""Before a time, and of no use without it."""
FIRM = _set("in during im wahrend en pendant durante since until before after seit bis vor nach depuis avant apres desde hasta antes despues early late mid from vom von de d du")
EARLY = _set("early beginning start anfang beginn debut principios comienzos inicios")
MIDDLE = _set("mid middle mitte mi milieu mediados")
LATE = _set("late end ende fin finales fines")
HALF = _set("half halfte semestre halbjahr moitie mitad")
ARTICLES = _set("the of der die das dem den des la le les l el los las de du del d a im au")
AGO = _set("ago")
PAST = _set("""did was were had has have happened went got came been gone shipped
    war waren wurde wurden hat haben hatte hatten habe gab kam kamen passierte geschah ging
    avons ont etait etaient avait s'est passe a
    fue fueron hubo paso ha han hemos era eran ocurrio hicimos decidimos acordamos""")
LATEST = _set("latest newest neueste neuesten neuester neuestes neuestem jungste jungsten aktuellste aktuellsten")
RECENTLY = _set("recently lately kurzlich neulich zuletzt recemment recientemente ultimamente dernierement")
OLDEST = _set("oldest earliest alteste altesten altester altestes fruheste fruhesten")
LAST_OF = _set("last letzte letzten letzter letztes dernier derniere ultimo ultima")
FIRST_OF = _set("first erste ersten erster erstes premier premiere primer primera")
MOST, RECENT, OLD = _set("most plus mas"), _set("recent recente recents recently reciente recientes"), _set("ancien ancienne antigua antiguo")
WERE = _set("was were is are got had has been wurde wurden war waren a fut etait fue fueron")
VERSION = _set("release version v fassung")
QUESTION = _set("which what when who where how welche welcher welches wann wer was wo quel quelle quels quelles quand qui que cual cuales cuando")
REVISED = _set("revised changed updated edited modified uberarbeitet geandert aktualisiert modifie modifiee revise revisee cambiado actualizado modificado revisado")
ORDERING = LATEST | RECENTLY | OLDEST | LAST_OF | FIRST_OF | MOST
NOTING = _set("noted wrote saved recorded notiert gespeichert note enregistre apuntamos guardamos")
NAMING = 3
"""Letters of a word that may be part of a name."""
NOTED = _set("note notes entry entries memory memories decision decisions bug bugs release version notiz eintrag entscheidung fehler ausfall nota entrada")

TRIGGERS = (
    _set(" ".join(MONTHS)) | _set(" ".join(WEEKDAYS)) | _set(" ".join(SEASONS)) | _set(" ".join(UNITS))
    | LATEST | RECENTLY | OLDEST | LAST_OF | FIRST_OF | RECENT | OLD | SINCE | UNTIL | BETWEEN | TODAY | AGO
    | _set("q1 q2 q3 q4 mes an yesterday gestern vorgestern hier ayer anteayer antier aujourd tonight night morning afternoon evening before after avant apres antes despues nach vor weekend finde")
)  # fmt: skip
"""Of which a question that names a time has one; or it has digits."""

_TOKEN = re.compile(r"\d+(?:[.:/\-]\d+)+|[^\W_]+")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|‘[^’]*’|`[^`]*`|(?<!\w)'[^']*'(?!\w)")


def folded(word: str) -> str:
    word = word.casefold()
    if word.isascii():
        return word
    return "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign))


class _Reader:
    """A question, word by word, and the moment it is asked at."""

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

    def at(self, n: int) -> str:
        return self.words[n] if 0 <= n < len(self.words) else ""

    def skip(self, n: int, words: frozenset[str] = ARTICLES) -> int:
        while self.at(n) in words and self.at(n):
            n += 1
        return n

    def capital(self, n: int) -> bool:
        """Whether a word that is not the first has a capital, as names have: the Yesterday button."""
        return 0 < n < len(self.places) and self.text[self.places[n][0]].isupper()

    # Parts of a time -------------------------------------------------------

    def start(self, unit: str, day: datetime) -> datetime:
        match unit:
            case "week":
                return day - day.weekday() * DAY
            case "month":
                return day.replace(day=1)
            case "quarter":
                return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
            case "year":
                return day.replace(month=1, day=1)
            case "weekend":
                return day - (day.weekday() - 5) * DAY
        return day

    def shift(self, unit: str, day: datetime, count: int) -> datetime:
        """A day some units later; in a shorter month its last day."""
        if unit in {"month", "quarter", "year"}:
            months = day.year * 12 + day.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[unit]
            first = day.replace(year=months // 12, month=months % 12 + 1, day=1)
            after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
            return min(first + (day.day - 1) * DAY, after - DAY)
        return day + count * (7 * DAY if unit in {"week", "weekend"} else DAY)

    def unit(self, unit: str, count: int) -> tuple[datetime, datetime]:
        """The calendar's: 0 is this one, -1 the last."""
        first = self.shift(unit, self.start(unit, self.today), count)
        return first, first + 2 * DAY if unit == "weekend" else self.shift(unit, first, 1)

    def year(self, n: int) -> tuple[int, int] | None:
        """A year that stands here: 2025, of last year."""
        n = self.skip(n)
        word = self.at(n)
        if re.fullmatch(r"(19|20)\d\d", word):
            return n + 1, int(word)
        if UNITS.get(self.at(n + 1)) == "year":
            if word in LAST or word in THIS:
                return n + 2, self.now.year - (word in LAST)
        if UNITS.get(word) == "year" and self.at(n + 1) in PASSED:
            return n + 2, self.now.year - 1
        return None

    def yearly(self, n: int, month: int, months: int, *, ended: bool = False) -> Period:
        """Months that begin in a year that is named behind them, or else the last that have begun."""
        if (named := self.year(n)) is not None:
            n, year = named
        else:
            year = self.now.year
            first = datetime(year, month, 1, tzinfo=self.now.tzinfo)
            if (self.shift("month", first, months) if ended else first) > self.now:
                year -= 1
        first = datetime(year, month, 1, tzinfo=self.now.tzinfo)
        return Period(n, first, self.shift("month", first, months))

    def dated(self, n: int, year: int, month: int, day: int) -> Period | None:
        try:
            first = datetime(year, month, day, tzinfo=self.now.tzinfo)
        except ValueError:
            return None
        return Period(n, first, first + DAY)

    def day_of(self, n: int, month: int, day: int) -> Period | None:
        """A day of the year that is named behind it, or else the last that has begun."""
        if re.fullmatch(r"(19|20)\d\d", self.at(self.skip(n))):
            n = self.skip(n)
            return self.dated(n + 1, int(self.at(n)), month, day)
        found = self.dated(n, self.now.year, month, day)
        return self.dated(n, self.now.year - 1, month, day) if found and found.first > self.now else found

    def number(self, n: int) -> int:
        word = self.at(n)
        return int(word) if word.isdigit() and len(word) <= 3 else NUMBERS.get(word, 0)

    # A time -----------------------------------------------------------------

    def period(self, n: int, lead: str = "") -> Period | None:
        """
        The time that begins with a word, if one does.

        Args:
            lead: The preposition before it; without one, many words are no time.
        """
        for read in (self._relative, self._ago, self._of_unit, self._part, self._of_quarter, self._date):
            if (found := read(n, lead)) is not None:
                return found
        return None

    def _relative(self, n: int, lead: str) -> Period | None:
        word, following, begins = self.at(n), self.at(n + 1), n
        back = None
        if word in {"yesterday", "gestern", "ayer"} or (word == "hier" and self.french):
            back, n = 1, n + 1
        elif word in TODAY:
            back, n = 0, n + 1
        elif word == "aujourd" and following == "hui":
            back, n = 0, n + 2
        elif word in {"vorgestern", "anteayer", "antier"}:
            back, n = 2, n + 1
        elif (word, following) == ("avant", "hier"):
            back, n = 2, n + 2
        elif (word, following, self.at(n + 2)) == ("day", "before", "yesterday"):
            back, n = 2, n + 3
        elif word in {"this", "heute"} and following in {"morning", "afternoon", "evening", "fruh", "morgen"}:
            back, n = 0, n + 2
        elif (word, following) in {("last", "night"), ("gestern", "abend"), ("letzte", "nacht")} or word == "anoche":
            evening = self.today - timedelta(hours=6)
            return Period(n + 1 + (word != "anoche"), evening, self.today + timedelta(hours=6))
        if back is None or self.capital(begins):
            return None
        return Period(n, self.today - back * DAY, self.today - (back - 1) * DAY)

    @property
    def french(self) -> bool:
        return not _set("qu que quel quelle quels quelles qui nous avons est a le la les l d du des pourquoi ou comment").isdisjoint(
            self.words
        ) and _set("ist wo der das wir und ich sind").isdisjoint(self.words)

    def _ago(self, n: int, lead: str) -> Period | None:
        """Three weeks ago, vor drei Wochen, il y a trois semaines, hace tres semanas; the more, the less exactly."""
        begins, word = n, self.at(n)
        if word in {"vor", "hace"}:
            n += 1
        elif (word, self.at(n + 1), self.at(n + 2)) == ("il", "y", "a"):
            n += 3
        else:
            begins = -1
        n = self.skip(n, _set("about around etwa ungefahr circa environ unos unas aproximadamente some"))
        count = self.number(n)
        n += bool(count)
        n = self.skip(n, _set("of couple few paar"))
        unit = UNITS.get(self.at(n))
        if not count or unit is None or (begins < 0 and self.at(n + 1) not in AGO):
            return None
        moment = self.shift(unit, self.today, -count)
        margin = {"day": 0, "week": 3, "weekend": 3, "month": 15, "quarter": 45, "year": 45}[unit] * DAY
        return Period(n + 1 + (begins < 0), moment - margin, moment + margin + DAY)

    def _of_unit(self, n: int, lead: str) -> Period | None:
        word, following = self.at(n), self.at(n + 1)
        # The last seven days; les 7 derniers jours; die letzten drei Wochen
        count, places = 0, n
        if word in PAST_N and self.number(n + 1):
            count, places = self.number(n + 1), n + 2
        elif self.number(n) and following in PAST_N:
            count, places = self.number(n), n + 2
        if count and (unit := UNITS.get(self.at(places))):
            return Period(places + 1, self.shift(unit, self.today, -count), self.now + timedelta(seconds=1))
        if word in BEFORE_LAST:
            return self._counted(n + 1, -2)
        if word in LAST:
            return self._counted(n + 1, -1)
        if word in THIS:
            return self._counted(n + 1, 0)
        # The week before last; la semaine derniere; el mes pasado; on Monday, of what is past
        if word in UNITS or word in SEASONS or word in WEEKDAYS or word in MONTHS:
            if (following, self.at(n + 2)) == ("before", "last"):
                found = self._counted(n, -2)
                return found and found._replace(next=n + 3)
            if following in PASSED:
                found = self._counted(n, -1)
                return found and found._replace(next=n + 2)
        if lead and self.past and (word in WEEKDAYS or UNITS.get(word) == "weekend"):
            if word in WEEKDAYS and lead in {"on", "am", "le", "el"} and not self.at(n + 1) in UNITS:
                return self._counted(n, -1)
            if word not in WEEKDAYS:
                first, end = self.unit("weekend", 0)
                return Period(n + 1, *(self.unit("weekend", -1) if first > self.now else (first, end)))
        return None

    def _counted(self, n: int, back: int) -> Period | None:
        """This, the last, or the one before: unit, season, month or weekday."""
        word = self.at(n)
        if word in UNITS and UNITS[word] != "day":
            return Period(n + 1, *self.unit(UNITS[word], back))
        if word == "fin" and self.at(n + 2) == "semana":
            return Period(n + 3, *self.unit("weekend", back))
        if word in WEEKDAYS:
            day = self.start("week", self.today) + (WEEKDAYS[word] - 1) * DAY
            if back and day >= self.today:
                day -= 7 * DAY
            day += (back + 1) * 7 * DAY if back else 0 * DAY
            return Period(n + 1, day, day + DAY)
        if word in MONTHS or word in SEASONS:
            month, months = (MONTHS[word], 1) if word in MONTHS else (SEASONS[word], 3)
            found = self.yearly(len(self.words), month, months, ended=back < 0)
            years = min(0, back + 1)
            return Period(n + 1, *(self.shift("year", one, years) for one in (found.first, found.end)))
        return None

    def _part(self, n: int, lead: str) -> Period | None:
        """Early June; the end of 2024; the second half of 2025."""
        word = self.at(n)
        if word in ORDINALS and self.at(n + 1) in HALF and ORDINALS[word] <= 2:
            if (year := self.year(n + 2)) is None:
                return None
            first = datetime(year[1], 6 * ORDINALS[word] - 5, 1, tzinfo=self.now.tzinfo)
            return Period(year[0], first, self.shift("month", first, 6))
        part = 0 if word in EARLY else 1 if word in MIDDLE else 2 if word in LATE else None
        if part is None:
            return None
        place = self.skip(n + 1)
        whole = self.period(place, "in") or self._plain_year(place)
        if whole is None or whole.end - whole.first < 20 * DAY:
            return None
        third = (whole.end - whole.first) / (3 if whole.end - whole.first < 100 * DAY else 6)
        first = (whole.first, whole.first + (whole.end - whole.first - third) / 2, whole.end - third)[part]
        return Period(whole.next, first.replace(hour=0, minute=0), whole.end if part == 2 else (first + third).replace(hour=0, minute=0))

    def _plain_year(self, n: int) -> Period | None:
        if (year := self.year(n)) is None:
            return None
        first = datetime(year[1], 1, 1, tzinfo=self.now.tzinfo)
        return Period(year[0], first, first.replace(year=year[1] + 1))

    def _of_quarter(self, n: int, lead: str) -> Period | None:
        word = self.at(n)
        if re.fullmatch(r"q[1-4]", word):
            return self.yearly(n + 1, 3 * int(word[1]) - 2, 3)
        if word in ORDINALS and UNITS.get(self.at(n + 1)) == "quarter":
            return self.yearly(n + 2, 3 * ORDINALS[word] - 2, 3)
        return None

    def _date(self, n: int, lead: str) -> Period | None:
        word, following = self.at(n), self.at(n + 1)
        if found := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", word):
            return self.dated(n + 1, *map(int, found.groups()))
        if found := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", word):
            return self.dated(n + 1, int(found[3]), int(found[2]), int(found[1]))
        if found := re.fullmatch(r"(\d{4})-(\d\d)", word):
            return self.yearly_of(n + 1, int(found[1]), int(found[2]))
        day = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|er)?", word)
        behind = self.skip(n + 1, _set("of de"))
        if day and self.at(behind) in MONTHS and 1 <= int(day[1]) <= 31:
            return self.day_of(behind + 1, MONTHS[self.at(behind)], int(day[1]))
        if word in MONTHS:
            day = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", following)
            if day and 1 <= int(day[1]) <= 31:
                return self.day_of(n + 2, MONTHS[word], int(day[1]))
            named = self.year(n + 1) is not None
            if named or lead in FIRM and (word not in AMBIGUOUS or lead not in {"of", "de", "d", "du", "from", "von", "vom"}):
                return self.yearly(n + 1, MONTHS[word], 1)
        if word in SEASONS and (lead in FIRM or re.fullmatch(r"(19|20)\d\d", self.at(self.skip(n + 1)))):
            return self.yearly(n + 1, SEASONS[word], 3)
        if lead and re.fullmatch(r"(19|20)\d\d", word) and int(word) <= self.now.year and not self.joined_number(n):
            return self._plain_year(n)
        return None

    def yearly_of(self, n: int, year: int, month: int) -> Period | None:
        found = self.dated(n, year, month, 1)
        return found and found._replace(end=self.shift("month", found.first, 1))

    def joined_number(self, n: int) -> bool:
        """Whether a number is part of something longer: "2024-based", "$2024"."""
        start, stop = self.places[n]
        return self.text[start - 1 : start] in {"$", "€", "#", "-", "."} or self.text[stop : stop + 1] in {"-", "%", "/"}

    # What happened at a bound ------------------------------------------------

    def event(self, n: int, stops: frozenset[str] = frozenset()) -> tuple[int, str] | None:
        """What a question calls something that happened: "2.1 was released", "release 2.2", "the hail net was hung"."""
        n = self.skip(n)
        if self.at(n) in QUESTION or not self.at(n):
            return None
        begins = n
        n = self.skip(n, VERSION)
        if re.fullmatch(r"v?\d+(\.\d+)+", self.at(n)) or (n > begins and re.fullmatch(r"v?\d+", self.at(n))):
            name, n = self.at(n).removeprefix("v"), n + 1
            if self.at(n) in WERE:
                n += 2
            return n, name
        end = begins
        while self.at(end) and self.at(end) not in stops and (end == begins or not self.parted(end)):
            end += 1
        if stops or self.at(begins) in WERE:
            return None
        if any(word in WERE for word in self.words[begins:end]) and end - begins >= 3:
            return end, self.text[self.places[begins][0] : self.places[end - 1][1]]
        return None

    def parted(self, n: int) -> bool:
        """Whether a comma or the like stands before a word."""
        return bool(re.search(r"[,;:?!]|\.\s", self.text[self.places[n - 1][1] : self.places[n][0]]))


def read(text: str, now: datetime, zone: tzinfo | None = None) -> Asked | None:
    """
    The time that a question names, None if it names none.

    A month, quarter or season without a year is the last one that has begun, "last summer" the last that has ended; a week
    begins on Monday; "last Friday" is the one before today. How long ago a thing was is meant the less exactly the longer it
    is: "three weeks ago" is a week, "a year ago" three months.

    Args:
        now: When it is asked, with an offset.
        zone: Of whoever asks; by default that of this machine.
    """
    local = now.astimezone(zone).replace(tzinfo=None)
    reader = _Reader(text, local)
    used: set[int] = set()
    bounds: dict[str, datetime] = {}
    events: dict[str, str] = {}

    def utc(moment: datetime) -> datetime:
        return (moment.replace(tzinfo=zone) if zone else moment.astimezone()).astimezone(UTC)

    def narrow(first: datetime | None, end: datetime | None) -> None:
        if first is not None:
            bounds["since"] = max(bounds.get("since", first), first)
        if end is not None:
            bounds["until"] = min(bounds.get("until", end), end)

    n = 0
    while n < len(reader.words):
        stop = _bounded(reader, n, narrow, events) or _plain(reader, n, narrow)
        if stop is None:
            n += 1
            continue
        begin = n
        while reader.at(begin - 1) in IN and begin - 1 not in used and begin > 0 and not reader.parted(begin):
            begin -= 1
        used.update(range(begin, stop))
        n = stop
    order, names = _order(reader, used, bounded=bool(bounds or events))
    if not (bounds or events or order):
        return None
    revised = bool(bounds) and not REVISED.isdisjoint(reader.words)
    return Asked(
        _text(reader, [n for n in range(len(reader.words)) if n not in used]),
        " … ".join(_stretches(reader, used)),
        *(utc(bounds[name]) if name in bounds else None for name in ("since", "until")),
        events.get("after", ""),
        events.get("before", ""),
        order,
        names,
        revised,
    )


def _bounded(reader: _Reader, n: int, narrow, events: dict[str, str]) -> int | None:
    """Since, before, after, until, between, from … to; where what follows ends."""
    word = reader.at(n)
    if word in BETWEEN or word in FROM:
        ends = AND if word in BETWEEN else TO
        one = reader.period(place := reader.skip(n + 1), "in") or reader._date(place, "in")
        if one is None and word in BETWEEN:
            # Between June and the end of August 2026: a month alone takes its year from what follows
            one = None
        middle = one.next if one else None
        if one is None and (event := reader.event(n + 1, ends)) is not None:
            middle = event[0]
        if middle is None or reader.at(middle) not in ends:
            return None
        place = reader.skip(middle + 1, ARTICLES | TO)
        two = reader.period(place, "in")
        if one and two:
            if one.first > two.first:  # "from November to March", "between February and May 2025"
                one = one._replace(first=reader.shift("year", one.first, -1))
            elif (year := two.first.year) < one.first.year:
                one = one._replace(first=one.first.replace(year=year))
            narrow(one.first, two.end)
            return two.next
        if one is None and two is None and (last := reader.event(middle + 1)) is not None:
            events["after"], events["before"] = event[1], last[1]
            return last[0]
        return None
    if word not in SINCE | BEFORE | AFTER | UNTIL:
        return None
    if word in BEFORE | AFTER and n == 0 and len(reader.words) < 3:
        return None
    place = reader.skip(n + 1, ARTICLES | frozenset({"zum"}))
    if (ago := reader._ago(n, "")) is not None and word == "vor":
        narrow(ago.first, ago.end)
        return ago.next
    if (found := reader.period(place, word)) is not None:
        if word in SINCE:
            narrow(found.first, None)
        elif word in AFTER:
            narrow(found.end, None)
        else:
            narrow(None, found.first if word in BEFORE else found.end)
        return found.next
    if (event := reader.event(n + 1)) is not None:
        events["after" if word in SINCE | AFTER else "before"] = event[1]
        return event[0]
    return None


def _plain(reader: _Reader, n: int, narrow) -> int | None:
    """A time by itself, or behind a preposition."""
    lead = reader.at(n - 1) if n and reader.at(n - 1) in IN | EARLY | LATE | MIDDLE else ""
    if lead in ARTICLES and n > 1 and reader.at(n - 2) in IN and lead not in {"im", "le", "el"}:
        lead = reader.at(n - 2)
    if (found := reader.period(n, lead)) is None:
        return None
    narrow(found.first, found.end)
    return found.next


def _order(reader: _Reader, used: set[int], *, bounded: bool) -> tuple[str, tuple[str, ...]]:
    """Whether the last or the first is asked for, and phrases of its word and one beside it; its own words are `used`."""
    noted = not NOTING.isdisjoint(reader.words)
    for n, word in enumerate(reader.words):
        if n in used or word not in ORDERING:
            continue
        following = reader.at(n + 1) if n + 1 not in used else ""
        if word in MOST and following in RECENT | OLD:
            used.update((n, n + 1))
            return ("latest" if following in RECENT else "oldest"), ()
        if word in RECENTLY:
            used.add(n)
            return "latest", ()
        named = bool(following) and not reader.parted(n + 1) and not reader.capital(n)
        firm = word in LATEST or word in OLDEST
        counted = (word in LAST_OF or word in FIRST_OF) and following not in HALF and not reader.number(n + 1)
        if (named and (firm or (counted and (following in NOTED or noted)))) or (counted and bounded):
            used.add(n)
            names = tuple(f"{word} {one}" for one in (following, reader.at(n - 1)) if len(one) >= NAMING)
            return ("latest" if word in LATEST or word in LAST_OF else "oldest"), names
    return "", ()


def _stretches(reader: _Reader, used: set[int]) -> list[str]:
    found: list[str] = []
    places = sorted(used)
    for place, n in enumerate(places):
        if place and places[place - 1] == n - 1:
            first = reader.places[begin][0]
            found[-1] = reader.text[first : reader.places[n][1]]
        else:
            begin = n
            found.append(reader.text[reader.places[n][0] : reader.places[n][1]])
    return found


def _text(reader: _Reader, left: list[int]) -> str:
    """The question without other words, its signs kept."""
    kept: list[str] = []
    at = 0
    gone = [n for n in range(len(reader.words)) if n not in set(left)]
    for n in gone:
        kept.append(reader.text[at : reader.places[n][0]])
        at = reader.places[n][1]
    kept.append(reader.text[at:])
    left_over = re.sub(r"(?<!\w)(['’]s?|[.,;:])(?!\w)", " ", " ".join(kept))
    return " ".join(left_over.split()).strip(" ,")
