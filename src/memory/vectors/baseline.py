"""
The baseline of a store: questions that have nothing to do with it (`STRANGERS`), embedded once for each index version
and compared with its vectors, again when many of these have changed.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING
from zlib import crc32

from memory.schema import np
from memory.schema.answer import Notice
from memory.schema.errors import EmbedError
from memory.schema.step import BACKFILL, EMBED, PROBE, purpose
from memory.store import Generation, State, Store
from memory.store.narrow import rounded
from memory.vectors import FINGERPRINT_TEXT, Embedder, Role, exchanged, space
from memory.vectors.backfill import IN_PASSING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.space import Strangers, Vectors
    from memory.store.export import StrangersLine
    from memory.vectors.registry import Embedders

LEAST = 1
"""
The fewest vectors with which the baseline is made. Even with a single vector, only the baseline tells what is near.
"""

LOOSE_SHARE = 10
"""When the noted nearness of one question in so many may be too high, all are compared with all vectors again."""

_AT_ONCE = threading.Lock()
"""Lets two threads embed the baseline only once. Two processes may both do it, which costs no more than the texts."""

if sys.platform != "win32":  # a forked child has no thread that would release it
    os.register_at_fork(after_in_child=lambda: globals().update(_AT_ONCE=threading.Lock()))


def due(store: Store, generation: Generation | None) -> bool:
    """Whether an index version has no baseline, has one of other texts, or has lost many of the nearest vectors."""
    if generation is None:
        return False
    if (known := generation.strangers) is not None:
        return known.stamp != STAMP or known.loose * LOOSE_SHARE >= len(known.nearest)
    return store.generations.centre(generation.id)[1] >= LEAST


def renew_baseline(
    store: Store,
    embedders: Embedders,
    *,
    asked: bool = False,
    building: int | None = None,
    going: Callable[[], bool] = lambda: True,
) -> None:
    """
    Embed the baseline questions of the active index version if that is due; if only vectors were deleted, compare them
    again. The former baseline is used until then. After an interruption the next call starts over.

    Args:
        asked: Whether a person waits for the result.
        building: An index version of the configured model, instead of the active one.
        going: Whether to continue; called before each batch of a model in this process.

    Raises:
        EmbedError: The model fails. Nothing is written.
    """
    with _AT_ONCE:
        if due(store, _generation(store, building)) and not _kept(store, building):
            _embed(store, embedders, asked=asked, building=building, going=going)


def _generation(store: Store, building: int | None) -> Generation | None:
    if building is None:
        return store.generations.active()
    return next((one for one in store.generations.every() if one.id == building), None)


def _kept(store: Store, building: int | None) -> bool:
    """
    Whether the baseline of these texts is stored; if so, compare it with all vectors, or finish an interrupted
    comparison.
    """
    generation = _generation(store, building)
    if generation is None or not _ours(generation.strangers) or not store.vectors.set_strangers(generation.id, None):
        return False
    now = _generation(store, generation.id)
    return now is not None and _ours(now.strangers)


def _ours(known: Strangers | None) -> bool:
    """Whether a baseline may be of these texts; an unknown one may."""
    return known is None or known.stamp == STAMP


def _embed(store: Store, embedders: Embedders, *, asked: bool, building: int | None, going: Callable[[], bool]) -> None:
    if building is None:
        generation, embedder = embedders.answering()
        building = generation.id
    else:
        embedder = embedders.configured()
    with purpose((EMBED if asked else BACKFILL)._replace(name=PROBE.name)):
        size = IN_PASSING if embedders.local else len(STRANGERS)  # one request to a server
        vectors = _embedded(embedder, STRANGERS, "query", size, going)
        answers = _embedded(embedder, tuple(ANSWERS.values()), "passage", size, going)
    embedders.write()
    if vectors is None or answers is None:
        return
    questions = vectors[[STRANGERS.index(question) for question in ANSWERS]]
    cosines = sorted((questions * answers).sum(axis=1).tolist())
    if due(store, _generation(store, building)):  # another process may have been faster
        store.vectors.set_strangers(building, rounded(vectors), right=cosines[len(cosines) // 2], stamp=STAMP)


def _embedded(
    embedder: Embedder, texts: Sequence[str], role: Role, size: int, going: Callable[[], bool]
) -> Vectors | None:
    """The vectors of texts, `size` at a time; None if `going` returned False."""
    parts = []
    for first in range(0, len(texts), size):
        if not going():
            return None
        parts.append(embedder.embed(texts[first : first + size], role))
    return np.concatenate(parts)


# Import --------------------------------------------------------------------------


def take_strangers(store: Store, embedders: Embedders, line: StrangersLine) -> Notice | None:
    """
    Use the baseline of an export if it is of the active model and the store has none yet.

    A store without vectors starts with it, if its model runs in this process. No server is called.

    Returns:
        The reason why it cannot be used; None if it is used or not needed.
    """
    vectors = np.frombuffer(line.embeddings, "<f4").reshape(-1, line.space.dimension)
    if line.stamp != STAMP or len(vectors) != len(STRANGERS):
        return _left_out("another version of memory has other ones")
    try:
        generation = store.generations.active() or _begun(store, embedders, line)
    except EmbedError as error:
        return _left_out(str(error))
    if generation is None:
        return _left_out(f"they are of {line.space}, and nothing is embedded here with that")
    if why := _misfit(generation, line):
        return _left_out(why)
    if generation.strangers is None or generation.strangers.stamp != STAMP:
        store.vectors.set_strangers(generation.id, vectors, right=line.right, stamp=line.stamp)
    return None


def _misfit(generation: Generation, line: StrangersLine) -> str:
    """Why a baseline does not fit the vectors of an index version; empty if it does."""
    if generation.space != line.space:
        return f"they are of {line.space}, and here answers {generation.space}"
    if generation.fingerprint and _exchanged(line, np.frombuffer(generation.fingerprint, "<f4")):
        return f"they are of another model under the same name, {line.space}"
    return ""


def _begun(store: Store, embedders: Embedders, line: StrangersLine) -> Generation | None:
    """A new index version for the model in this process, if the baseline is of that model; else None."""
    if not (embedders.enabled and embedders.inside):
        return None
    embedder = embedders.configured()
    with purpose(PROBE):
        if space(embedder) != line.space:
            return None
        if line.fingerprint and _exchanged(line, embedder.embed([FINGERPRINT_TEXT], "passage")[0]):
            return None
    return store.generations.begin(line.space, embedders.now())


def _exchanged(line: StrangersLine, fingerprint: Vectors) -> bool:
    """Whether the baseline is of another model than this fingerprint; False if the baseline has none."""
    return exchanged(Generation(0, line.space, State.RETIRED, line.fingerprint), fingerprint)


def _left_out(why: str) -> Notice:
    hint = f"`memory embed` embeds them with the model that answers here: {len(STRANGERS) + len(ANSWERS)} short texts."
    return Notice(f"the baseline questions of the export are not used: {why}", hint)


# Questions about all kinds of subjects: how near they come to a store shows what nearness means there -----

STRANGERS = (
    # at home
    "how do I get red wine out of a carpet",
    "the washing machine smells of mould",
    "which houseplants survive in a dark bathroom",
    "when should the smoke alarm be tested",
    "what is the best way to stop a tap from dripping",
    "my neighbour's dog barks all night, what can I do about it",
    "can I paint over wallpaper",
    # cooking
    "how much salt goes into pasta water",
    "substitute for buttermilk in pancakes",
    "why did my sourdough not rise",
    "how long does cooked rice keep in the fridge",
    "which cut of beef is right for a slow stew",
    "vegetarian dinner for eight guests",
    # sport
    "offside rule explained",
    "how often should a beginner run in a week",
    "who holds the record for the marathon",
    "what do I need to start climbing",
    "does stretching before swimming prevent injuries",
    "number of players in a volleyball team",
    # law and money
    "how long is the notice period for a rented flat",
    "can I return a gift without the receipt",
    "is a verbal contract binding",
    "what happens to a mortgage after a divorce",
    "difference between a grant and a loan",
    "do I have to declare income from selling old furniture",
    "how does compound interest work",
    # medicine
    "symptoms of appendicitis in children",
    "is ibuprofen safe during pregnancy",
    "how is type 2 diabetes treated",
    "what does a high white blood cell count mean",
    "my knee hurts when I walk downstairs",
    "how effective is the vaccine against shingles in people over seventy",
    "does lack of sleep weaken the immune system",
    # history and society
    "who built the Great Wall of China",
    "what caused the fall of Constantinople",
    "when did women get the vote in Switzerland",
    "how did medieval peasants heat their houses",
    "which treaty ended the Thirty Years' War",
    "why did the Roman senate lose its power",
    "what language was spoken in Carthage",
    # science
    "why is the sky dark at night",
    "how do enzymes lower activation energy",
    "what is the half-life of caesium 137",
    "how do bats find their way",
    "what drives the movement of tectonic plates",
    "does the flow of air over a wing separate at high angles",
    "how is the mass of a distant star measured",
    "effect of acid rain on freshwater fish populations",
    # programming and machines
    "how do I centre a box with a style sheet",
    "difference between a process and a thread",
    "why is my loop over a linked list so slow",
    "parse a date in a shell script",
    "what is a deadlock",
    "how to write a matrix to a spreadsheet",
    "which sorting algorithm is stable",
    "undo the last commit but keep the changes",
    "the printer says offline although it is connected",
    "phone does not charge over night any more",
    # office
    "template for a letter of resignation",
    "who approves travel expenses above the limit",
    "how do I book the large meeting room",
    "agenda for the meeting with the marketing department",
    "when are the salaries paid in December",
    "what is our policy on working from abroad",
    "who is on call at the weekend",
    "how many days of leave are left",
    # travel
    "do I need a visa for Vietnam",
    "cheapest way from the airport into the city",
    "is it safe to drink tap water in Morocco",
    "night train from Vienna to Venice",
    "best month to see the northern lights",
    "what may I carry in hand luggage on a flight to Canada",
    # arts and pastime
    "who painted the girl with a pearl earring",
    "chords of a twelve bar blues",
    "what is the novel about the whale called",
    "how do I tune a ukulele",
    "rules for castling in chess",
    "good board game for two",
    "which film won most awards that year",
    # of people, as in a chat
    "what should I give my sister for her wedding",
    "did you have a nice weekend",
    "tell me something funny",
    "what is her favourite colour",
    "when did he move to the new house",
    "how was the concert yesterday",
    "what did the teacher say about the boy's reading",
    "are you coming to dinner on Friday",
    "I feel lonely since I changed jobs, what would you advise me to do",
    # nature, gardens, things
    "when do tulips have to be planted",
    "how old do tortoises get",
    "what do hedgehogs eat in winter",
    "tyre pressure for a heavily loaded car",
    "how thick must a roof insulation be",
    "elephants",
    "insurance",
    "battery",
    "a recipe",
)
"""Questions of all kinds and lengths; most stores have no answer to any of them."""

ANSWERS = {
    "how do I get red wine out of a carpet": "Salt and sparkling water lift a fresh stain from the rug",
    "the washing machine smells of mould": "Run it empty at 90 degrees with vinegar, and leave the door open",
    "which houseplants survive in a dark bathroom": "Ferns and ivy need little light and like damp air",
    "what is the best way to stop a tap from dripping": "A worn washer is why the faucet leaks: replace it",
    "substitute for buttermilk in pancakes": "Milk with a spoon of lemon juice does as well in the batter",
    "why did my sourdough not rise": "The starter was too young and the kitchen too cold for the dough",
    "how long does cooked rice keep in the fridge": "Leftovers are fine for a day or two when chilled at once",
    "how often should a beginner run in a week": "Three short jogs with a day of rest between them are plenty at first",
    "who holds the record for the marathon": "Kelvin Kiptum was fastest over 42 kilometres",
    "how long is the notice period for a rented flat": "Tenants have to give the landlord three months before they move out",
    "can I return a gift without the receipt": "Shops take presents back for a voucher if the price tag is on",
    "how does compound interest work": "What the savings earn is added to them and earns more the year after",
    "symptoms of appendicitis in children": "Pain that moves to the lower right of the belly, fever, no appetite",
    "is ibuprofen safe during pregnancy": "Expecting mothers take paracetamol; other painkillers harm the baby late on",
    "how is type 2 diabetes treated": "Diet, exercise and metformin bring the blood sugar down",
    "who built the Great Wall of China": "Most of it was raised under the Ming against riders from the north",
    "when did women get the vote in Switzerland": "Female suffrage came in 1971, by a referendum among the men",
    "what is the half-life of caesium 137": "Half of the isotope has decayed after 30 years",
    "how do bats find their way": "They call in ultrasound and listen to the echo",
    "what drives the movement of tectonic plates": "Convection in the mantle drags the continents along",
    "difference between a process and a thread": "Threads share memory; each program has an address space of its own",
    "what is a deadlock": "Two workers wait forever for the lock that the other one has",
    "undo the last commit but keep the changes": "git reset --soft HEAD~1 takes it back and leaves the files as they are",
    "the printer says offline although it is connected": "Switch it off and on, then choose it anew in the settings of the computer",
    "who approves travel expenses above the limit": "Trips over 2,000 euros need the signature of the head of finance",
    "how do I book the large meeting room": "Rooms are reserved in the shared calendar, by the front desk only",
    "when are the salaries paid in December": "Wages go out on the 20th, before the holidays",
    "do I need a visa for Vietnam": "Tourists from the EU may stay in Hanoi for 45 days with a passport",
    "cheapest way from the airport into the city": "The bus to the centre costs three euros, a taxi forty",
    "best month to see the northern lights": "Aurora is strongest around the equinox, late in September",
    "what should I give my sister for her wedding": "She told me they would love a set of good knives to marry with",
    "when did he move to the new house": "They got the keys in May and had all boxes carried over by June",
    "when do tulips have to be planted": "Bulbs go into the ground in October, before the frost",
    "what do hedgehogs eat in winter": "They sleep until spring and live on their fat",
    "tyre pressure for a heavily loaded car": "With four people and luggage pump to 2.8 bar",
    "what may I carry in hand luggage on a flight to Canada": "Liquids under 100 ml in a clear bag, no blades",
}
"""Answers to some of them, in other words: they show how near a model places a question and its right answer."""

STAMP = crc32("\n".join((*STRANGERS, *ANSWERS, *ANSWERS.values())).encode())
"""A check sum of the texts: a version of the program with other texts embeds them again."""
