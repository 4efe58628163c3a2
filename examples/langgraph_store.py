"""A LangGraph graph that remembers between its runs. Needs: pip install 'tiermem[langgraph]'."""

from typing import TypedDict

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memory.integrations.langgraph import MemoryStore

model = FakeListChatModel(responses=["I will remember that.", "You like green tea."])  # any chat model


class State(TypedDict):
    said: str
    answer: str


def answer(state: State, *, store: BaseStore) -> dict[str, str]:
    known = store.search(("users", "ann"), query=state["said"], limit=3)
    told = [item.value["said"] for item in known]
    store.put(("users", "ann"), state["said"], {"said": state["said"]})
    return {"answer": f"{model.invoke(f'Known: {told}. Asked: {state}').content} (known: {told})"}


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)

with MemoryStore.open() as store:  # your own memory; home="…" opens another
    graph = builder.compile(store=store)
    print(graph.invoke({"said": "I like green tea"})["answer"])
    print(graph.invoke({"said": "Which tea do I like?"})["answer"])
