"""Run by basic-memory's own Python: notes as its Markdown processor writes them, in the folder that is named."""

import asyncio
import sys
from pathlib import Path

from basic_memory.markdown.entity_parser import EntityParser
from basic_memory.markdown.markdown_processor import MarkdownProcessor
from basic_memory.markdown.schemas import EntityFrontmatter, EntityMarkdown, Observation, Relation

folder = Path(sys.argv[1])
processor = MarkdownProcessor(EntityParser(folder))


def note(name: str, front: dict[str, object], text: str, *stated: Observation | Relation) -> None:
    """Write a note that states facts and relations."""
    matter = EntityFrontmatter(metadata={**front, "permalink": f"harbour/{name}"})
    facts = [one for one in stated if isinstance(one, Observation)]
    relations = [one for one in stated if isinstance(one, Relation)]
    markdown = EntityMarkdown(frontmatter=matter, content=text, observations=facts, relations=relations)
    asyncio.run(processor.write_file(folder / "harbour" / f"{name}.md", markdown))


note(
    "tide-gauge",
    {"title": "Tide gauge", "type": "device", "tags": ["tide", "sensor"]},
    "# Tide gauge\n\nIt stands at the north pier; see [[Radio link]] for how it speaks.\n",
    Observation(category="method", content="reads the level every six minutes #tide", context="since spring"),
    Observation(category="limit", content="needs a new battery each year"),
    Relation(type="feeds", target="Forecast"),
    Relation(type="speaks over", target="Radio link", context="433 MHz"),
)
note(
    "radio-link",
    {"title": "Radio link", "type": "note"},
    "# Radio link\n\n- [ ] order a spare antenna\n- [00:10] not a fact\n",
    Observation(category="fact", content="repeats what was not confirmed"),
)
note(
    "pier",
    {"title": "North pier", "type": "note", "tags": ["place"]},
    "# North pier\n\nNothing but a description of a place.\n",
)
