"""What an evaluation looks like: tables, JSON, the picture."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

from evaluation import Evaluation
from evaluation.calibration import Band
from evaluation.leave_one_out import LeaveOneOut, LeftOut
from evaluation.measures import Line, OfSet, Share, Unanswerable, outcomes, summaries
from evaluation.picture import BOTTOM, COLOURS, INK, LEFT, RIGHT, TOP, calibration, frontier as picture
from evaluation.report import data as as_data, text as as_text
from evaluation.sizes import OfSize
from evaluation.systems import EFFORTS, SYSTEMS
from memory.evaluate import Mean, Measures
from memory.schema.answer import Notice

HOSTILE = 'a\x1b]0;<b>&"c'


def mean(value: float) -> Mean:
    return Mean(value, value - 0.05, value + 0.05)


def a_line(system: str, calls: float, relative: float | None = 0.9) -> Line:
    quality = Measures(*(mean(0.5),) * 5)
    difference = None if relative is None else Mean(-0.05, -0.1, 0.01)
    tiers = (Share("hybrid", 0.75), Share("keyword", 0.25))
    return Line(
        system, quality, mean(calls), 0.0012, 0.0345, difference, relative, tiers, outcomes(["answered", "weak"])
    )


def a_set(name: str, relative: float | None = 0.9, *, frontier: bool = True) -> OfSet:
    lines = tuple(a_line(system.name, 0.3, relative) for system in SYSTEMS)
    points = tuple(a_line(f"effort {value:.1f}", value, relative) for value in EFFORTS)
    others = (Unanswerable("others", 200, outcomes(["nothing_relevant"] * 3 + ["weak"])),)
    return OfSet(name, 1_400, 50, 225, 1, 2, 3, "hashed:hashed-64", lines, points if frontier else (), others)


BANDS = (
    Band("outcome", "nothing_relevant", 0, None, None, 9, 0.0),
    Band("outcome", "answered", 50, 0.5, 0.8, 1, 0.727),
    Band("relevance", "0.9 to 1.0", 50, 0.5, 0.8, 10, 0.4),
    Band("similarity", "0.4 to 0.5", 10, 0.2, 0.6, 10, 0.1),
    Band("similarity", "none", 40, 0.6, 0.9, 0, 0.9),
)


def of_size(documents: int, *, relative: float | None = 0.9, denied: int = 1, found: int = 4) -> OfSize:
    lines = [a_line(name, 0.3, relative) for name in ("keywords", "hybrid minmax", "no call", "tiered")]
    return OfSize(documents, 7, 40, tuple(lines), found, denied, 200, 150)


def more(one: OfSet) -> OfSet:
    """A set with what has to be asked for."""
    return one._replace(sizes=(of_size(25), of_size(1_400, denied=0)), calibration=BANDS)


def an_evaluation(*sets: OfSet) -> Evaluation:
    over = [summaries([one.lines for one in sets])]
    over.append(summaries([one.frontier for one in sets]))
    return Evaluation(sets, *over, 50, (Notice("told", "hint"),))


def tables(said: str) -> list[list[list[str]]]:
    found = [block for block in said.split("\n\n") if block.startswith("|")]
    return [[line.strip("|").split("|") for line in block.splitlines()] for block in found]


# Tables -----------------------------------------------------------------------


def test_every_row_has_the_columns_of_its_head():
    found = tables(as_text(an_evaluation(a_set("one"), a_set("two"))))

    assert len(found) == 2 + 2 * 2  # summary, frontier; of each set its systems and its outcomes
    assert all(len({len(row) for row in table}) == 1 for table in found)
    assert [len(table) - 2 for table in found] == [len(SYSTEMS), len(EFFORTS), *(len(SYSTEMS), 2) * 2]


def test_a_system_is_shown_with_its_intervals():
    said = as_text(an_evaluation(a_set("one")))

    assert "1,400 documents, 50 of 225 questions. Model: hashed:hashed-64." in said
    assert "Skipped, because no answer was judged: 1 question." in said
    assert "Left out: 2 judgments of documents or questions that do not exist." in said
    assert "The model refused 3 chunks." in said
    middle = " | ".join(["0.500 (0.450 to 0.550)"] * 5)
    told = "90.0 % | -0.050 (-0.100 to +0.010) | 30 % (25 to 35) | 1.2 | 34.5"
    assert f"| tiered | {middle} | {told} |" in said
    assert "| 0.3 | 30 %, 0.500, 90.0 % |" in said
    assert "| one, which it answers | 50 | 50.0 % | 50.0 % | 0.0 % | 0.0 % | 0.0 % |" in said
    assert "| others, which it does not answer | 200 | 0.0 % | 25.0 % | 75.0 % | 0.0 % | 0.0 % |" in said
    assert "Tiers of its own questions: hybrid 75 %, keyword 25 %." in said
    assert "All sets" not in said


def test_what_was_not_measured_is_not_made_up():
    said = as_text(an_evaluation(a_set("one", None, frontier=False), a_set("two", frontier=False)))

    assert "## Frontier" not in said
    assert "| keywords | 0.500 | 0.500 | 0.500 | 0.500 | 0.500 | – | – | 30 % |" in said
    assert "– | – | 30 % (25 to 35)" in said


def test_no_name_reaches_the_terminal_as_an_escape():
    assert "\x1b" not in as_text(an_evaluation(a_set(HOSTILE)))


def test_sizes_are_shown_of_each_set_and_over_all():
    found = as_text(an_evaluation(more(a_set("one")), more(a_set("two", 0.8))))

    row = "0.500 | 90.0 % | 90.0 % | 90.0 % | 30 %"
    assert f"| 25 | 7 | 40 | {row} | 1 of 4 (25.0 %) | 150 of 200 (75.0 %) |" in found
    assert f"| 1,400 | 7 | 40 | {row} | 0 of 4 (0.0 %) | 150 of 200 (75.0 %) |" in found
    assert "| 25 | 2 | 90.0 % | 90.0 % | 90.0 % | 90.0 % | 30 % | 25.0 % | 75.0 % |" in found
    assert "| all | 2 | 90.0 % | 90.0 % | 90.0 % | 90.0 % | 30 % | 0.0 % | 75.0 % |" in found
    assert all(len({len(row) for row in table}) == 1 for table in tables(found))
    assert "denied: of the questions" in found


def test_the_means_of_a_size_are_of_the_sets_that_have_it():
    smaller = a_set("two")._replace(sizes=(of_size(10, relative=0.7), of_size(60, relative=None, found=0, denied=0)))
    found = as_text(an_evaluation(more(a_set("one")), smaller))

    assert "| 10 | 1 | 70.0 % | 70.0 % | 70.0 % | 70.0 % |" in found
    assert "| 25 | 1 | 90.0 % |" in found
    assert "| all | 2 | – | – | – | – | 30 % | 0.0 % | 75.0 % |" in found
    assert "| 60 | 7 | 40 | 0.500 | – | – | – | 30 % | – |" in found


def test_how_far_an_answer_can_be_trusted_is_a_row_for_each_thing_it_says():
    found = as_text(an_evaluation(more(a_set("one"))))

    assert "| outcome nothing_relevant | 0 | – | – | 9 | 0 % |" in found
    assert "| outcome answered | 50 | 50 % | 80 % | 1 | 73 % |" in found
    assert "| similarity none | 40 | 60 % | 90 % | 0 | 90 % |" in found


def test_what_to_expect_is_said_with_the_budget():
    sets = (LeftOut("one", 0.4, 0.99, 0.3, 0.95, 0.4), LeftOut("two", 0.3, 0.98, 0.2, 0.97, 0.1))
    told = an_evaluation(a_set("one"), a_set("two"))._replace(left_out=LeaveOneOut(0.35, sets, 0.96, 0.25, 0.95))

    found = as_text(told)

    assert "| one | 0.4 | 99.0 % | 30 % | 95.0 % | 40 % |" in found
    assert "| mean |  |  |  | 96.0 % | 25 % |" in found
    assert "| worst |  |  |  | 95.0 % |  |" in found
    assert "for at most 35 % calls" in found
    assert json.loads(json.dumps(as_data(told)))["leave_one_out"]["sets"][1]["effort"] == 0.3
    none = told._replace(left_out=LeaveOneOut(0.35, (), None, None, None))
    assert "| mean |  |  |  | – | – |" in as_text(none)


def test_what_was_not_asked_for_is_not_there():
    plain = an_evaluation(a_set("one"), a_set("two"))

    found = json.loads(json.dumps(as_data(plain)))

    assert "leave_one_out" not in found
    assert not {"sizes", "calibration"} & set(found["sets"][0])
    text = as_text(plain)
    assert not any(word in text for word in ("by size", "trusted", "Leaving", "denied"))
    asked = as_data(an_evaluation(more(a_set("one"))))["sets"][0]
    assert [size["documents"] for size in asked["sizes"]] == [25, 1_400]
    assert asked["calibration"][1] == BANDS[1]._asdict()


# JSON -------------------------------------------------------------------------


def test_the_document_holds_every_figure():
    found = json.loads(json.dumps(as_data(an_evaluation(a_set("one"), a_set("two")))))

    assert (found["schema"], found["most"]) == ("memory.eval/1", 50)
    assert found["notices"] == [{"text": "told", "hint": "hint"}]
    one = found["sets"][0]
    assert {name: one[name] for name in ("name", "documents", "questions", "judged", "skipped", "unknown")} == {
        "name": "one",
        "documents": 1_400,
        "questions": 50,
        "judged": 225,
        "skipped": 1,
        "unknown": 2,
    }
    line = one["lines"][-1]
    assert line["system"] == "tiered"
    assert line["quality"]["ndcg10"] == {"mean": 0.5, "low": 0.45, "high": pytest.approx(0.55)}
    assert set(line["quality"]) == {"ndcg10", "recall5", "recall10", "mrr10", "hit5"}
    assert line["calls"]["mean"] == 0.3
    assert line["difference"] == {"mean": -0.05, "low": -0.1, "high": 0.01}
    assert line["tiers"][0] == {"name": "hybrid", "share": 0.75}
    assert [point["effort"] for point in one["frontier"]] == list(EFFORTS)
    assert one["frontier"][3]["relative"] == 0.9
    assert one["unanswerable"][0]["outcomes"][2] == {"name": "nothing_relevant", "share": 0.75}
    assert found["summary"][0]["quality"]["mrr10"] == 0.5
    assert [one["system"] for one in found["frontier"]] == [f"effort {value:.1f}" for value in EFFORTS]


# Picture ----------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_well_formed_whatever_a_set_is_called():
    root = ET.fromstring(picture(an_evaluation(a_set(HOSTILE), a_set("x" * 300))))

    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert 'a\ufffd]0;<b>&"c' in texts
    assert max(map(len, texts)) < 80
    assert {"tiered", "no call", "count gate", "keywords", "questions that called the model"} <= set(texts)
    assert any(text.startswith("nDCG@10") for text in texts)


def test_a_set_is_a_line_with_a_point_for_each_effort_and_one_for_each_system():
    root = ET.fromstring(picture(an_evaluation(a_set("one"), a_set("two", 1.04), a_set("three", None))))

    lines = [line.get("points").split() for line in root.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [len(EFFORTS)] * 2
    assert len(list(root.iter(f"{SVG}g"))) == 2 * (len(EFFORTS) + 4)
    xs = [float(point.split(",")[0]) for point in lines[0]]
    assert xs == pytest.approx([LEFT + (RIGHT - LEFT) * value for value in EFFORTS])
    ys = [float(point.split(",")[1]) for points in lines for point in points]
    assert all(TOP <= y <= BOTTOM for y in ys)
    assert ys[-1] < ys[0]  # better is higher
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert "one, effort 0.3: 90.0 % for 30 % calls" in titles


def test_the_calibration_has_a_row_for_each_set_and_a_panel_for_each_sign():
    drawn = calibration(an_evaluation(more(a_set(HOSTILE)), more(a_set("x" * 300)), a_set("three")))
    root = ET.fromstring(drawn)

    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert 'a\ufffd]0;<b>&"c' in texts
    assert max(map(len, texts)) < 90
    assert [texts.count(name) for name in ("outcome", "relevance of the first hit", "similarity of the first hit")] == [
        2
    ] * 3
    assert "three" not in texts
    width, height = (float(value) for value in root.get("viewBox").split()[2:])
    for circle in root.iter(f"{SVG}circle"):
        assert 0 < float(circle.get("cx")) < width
        assert 0 < float(circle.get("cy")) < height
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles.count("outcome answered: 50 own questions, 1 of strangers") == 4  # with and without them, in two sets
    assert titles.count("outcome nothing_relevant: 0 own questions, 9 of strangers") == 2
    assert not any("none" in title for title in titles[1:])
    empty = ET.fromstring(calibration(an_evaluation(a_set("one"))))
    assert not list(empty.iter(f"{SVG}circle"))


@pytest.mark.parametrize("relative", [0.0, 1e-6, 0.995, 1.0, 1.2, 30.0, 1e6, None])
def test_the_field_holds_whatever_was_measured(relative):
    root = ET.fromstring(picture(an_evaluation(a_set("one", relative))))

    for line in root.iter(f"{SVG}polyline"):
        assert all(TOP <= float(point.split(",")[1]) <= BOTTOM for point in line.get("points").split())
    assert len(list(root.iter(f"{SVG}text"))) < 40


def test_its_colours_stand_out_from_a_light_page_and_from_a_dark_one():
    """By 3:1 at least, as the Web Content Accessibility Guidelines 2.2 (1.4.11) ask for; there is no background."""

    def luminance(colour: str) -> float:
        parts = [int(part, 16) / 255 for part in re.findall("[0-9a-f]{2}", colour)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    said = picture(an_evaluation(*(a_set(f"set {number}") for number in range(len(COLOURS)))))

    assert set(re.findall("#[0-9a-f]{6}", said)) == {*COLOURS, INK}
    for colour in (*COLOURS, INK):
        for page in ("#ffffff", "#0d1117", "#1f1f1f"):
            low, high = sorted((luminance(colour), luminance(page)))
            assert (high + 0.05) / (low + 0.05) >= 3, (colour, page)
