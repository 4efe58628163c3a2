"""What a transcript proposes, and how precise that is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from captured_made import TUNED, Counted, captured, counted, summed, transcript_of

from memory.carry.formats.conversation import ASSISTANT, USER
from memory.carry.review import MOST, PROPOSED, SAID, TURN, digest, proposals

if TYPE_CHECKING:
    from pathlib import Path

    from memory.carry.review import Proposal

KEPT = "We decided to keep invoices for ten years."
FOUND = "The root cause was a stale `app.lock` in the cache."


def proposed(folder: Path, *said: tuple[str, str]) -> list[Proposal]:
    path = folder / "session.jsonl"
    path.write_text(transcript_of(*said), "utf-8")
    return proposals(path, str)


def whats(folder: Path, *said: tuple[str, str]) -> list[str]:
    return [one.what for one in proposed(folder, *said)]


def test_the_precision_is_what_the_decision_page_says() -> None:
    counts = [counted(one) for one in captured()]

    assert len(counts) == 20
    assert summed(counts[:TUNED]) == Counted(right=26, proposed=27, found=26, worth=27)
    assert summed(counts[TUNED:]) == Counted(right=27, proposed=32, found=27, worth=31)


def test_each_has_its_place(tmp_path: Path) -> None:
    (one,) = proposed(tmp_path, (USER, "hello"), (USER, f"{KEPT} Because the tax office wants that."))

    assert (one.role, one.line, one.time) == (USER, 3, "2026-03-11T09:01:00+00:00")
    assert one.why == "Because the tax office wants that."


def test_what_a_person_refutes_is_not_proposed(tmp_path: Path) -> None:
    asked = (USER, "find the cause")

    assert whats(tmp_path, asked, (ASSISTANT, FOUND), (USER, "thanks a lot")) == [FOUND]
    assert whats(tmp_path, asked, (ASSISTANT, FOUND), (USER, "Nope, that was last week")) == []
    assert whats(tmp_path, asked, (ASSISTANT, FOUND), (USER, "still fails")) == []


def test_what_a_person_takes_back_is_not_proposed(tmp_path: Path) -> None:
    answer = (ASSISTANT, "Done.")

    assert whats(tmp_path, (USER, KEPT), answer, (USER, "good")) == [KEPT]
    assert whats(tmp_path, (USER, KEPT), answer, (USER, "scratch that, twenty")) == []
    assert whats(tmp_path, (USER, f"{KEPT} Forget it, I need to ask.")) == []


def test_a_correction_may_follow_a_word(tmp_path: Path) -> None:
    before = (ASSISTANT, "I ran npm install.")

    assert whats(tmp_path, before, (USER, "No. We use `pnpm` for all packages here.")) == [
        "We use `pnpm` for all packages here."
    ]


def test_what_both_say_is_what_the_person_said(tmp_path: Path) -> None:
    restated = "We decided to keep invoices for 10 years, for ten years."
    (one,) = proposed(tmp_path, (ASSISTANT, restated), (USER, KEPT))

    assert one.role == USER


def test_no_more_is_proposed_than_is_read(tmp_path: Path) -> None:
    said = [
        (USER, f"We decided to keep the {name} of customer number{name} in box{name}.") for name in range(PROPOSED + 5)
    ]
    found = whats(tmp_path, (ASSISTANT, FOUND), *said)

    assert len(found) == PROPOSED
    assert FOUND not in found


def test_a_message_that_is_a_file_is_not_read(tmp_path: Path) -> None:
    assert whats(tmp_path, (USER, f"{KEPT}\n\n{'x ' * (TURN // 2)}")) == []


def test_of_many_words_the_last_are_read(tmp_path: Path) -> None:
    filler = [(ASSISTANT, f"We decided {'nothing ' * 9_000}") for _ in range(SAID // 70_000 + 1)]

    assert whats(tmp_path, (USER, KEPT), *filler, (USER, "Always sign the tags of releases.")) == [
        "Always sign the tags of releases."
    ]


def test_of_a_long_transcript_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(transcript_of((USER, KEPT), ("tool", "x" * MOST), (ASSISTANT, FOUND)), "utf-8")

    (one,) = proposals(path, str)

    assert (one.what, one.line) == (FOUND, None)


def test_lines_that_are_broken_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    good = transcript_of((USER, KEPT))
    broken = ["{", '{"type": "user", "message": 7}', "[" * 100_000, "\ufeff", json.dumps({"type": ["user"]}), "\x00"]
    path.write_bytes(b"\xff\xfe\n" + "\n".join([*broken, good, '{"type": "user", "mess']).encode())

    assert [one.what for one in proposals(path, str)] == [KEPT]


def test_another_programs_file_proposes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(json.dumps({"type": "response_item", "payload": {"role": "user", "content": KEPT}}) + "\n")

    assert proposals(path, str) == []


def test_a_digest_is_of_the_words_in_a_project() -> None:
    assert digest("Use  `pnpm`, always!", "shop") == digest("use pnpm always", "shop")
    assert digest("use pnpm", "shop") != digest("use pnpm", None)
