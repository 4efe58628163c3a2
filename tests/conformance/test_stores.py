"""Every store keeps every promise of `memory.store.Store`: a suite each of its parts, and of what goes through several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from care_suite import CareSuite
from changing_suite import ChangingSuite
from forms_suite import FormsSuite
from generations_suite import GenerationsSuite
from graph_suite import GraphSuite
from keyed_suite import KeyedSuite, clock, items  # noqa: F401
from keywords_suite import KeywordsSuite
from memories_suite import MemoriesSuite
from one_suite import OneSuite
from past_suite import PastSuite
from primitives_suite import PrimitivesSuite
from queue_suite import QueueSuite
from runs_suite import RunsSuite
from same_suite import SameSuite
from scopes_suite import ScopesSuite
from sessions_suite import SessionsSuite
from stores import STORES
from strangers_suite import StrangersSuite
from term_vectors_suite import TermVectorsSuite
from transaction_suite import TransactionSuite
from trash_suite import TrashSuite
from usage_suite import UsageSuite
from vectors_suite import VectorsSuite
from walks_suite import WalksSuite
from weighing_suite import WeighingSuite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store import Store


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with STORES[request.param](tmp_path) as store:
        yield store


class TestMemories(MemoriesSuite):
    pass


class TestPrimitives(PrimitivesSuite):
    pass


class TestChanging(ChangingSuite):
    pass


class TestPast(PastSuite):
    pass


class TestSame(SameSuite):
    pass


class TestOne(OneSuite):
    pass


class TestSessions(SessionsSuite):
    pass


class TestScopes(ScopesSuite):
    pass


class TestKeywords(KeywordsSuite):
    pass


class TestKeyed(KeyedSuite):
    pass


class TestForms(FormsSuite):
    pass


class TestWeighing(WeighingSuite):
    pass


class TestGenerations(GenerationsSuite):
    pass


class TestStrangers(StrangersSuite):
    pass


class TestVectors(VectorsSuite):
    pass


class TestQueue(QueueSuite):
    pass


class TestTermVectors(TermVectorsSuite):
    pass


class TestGraph(GraphSuite):
    pass


class TestWalks(WalksSuite):
    pass


class TestRuns(RunsSuite):
    pass


class TestTransactions(TransactionSuite):
    pass


class TestTrash(TrashSuite):
    pass


class TestUsage(UsageSuite):
    pass


class TestCare(CareSuite):
    pass
