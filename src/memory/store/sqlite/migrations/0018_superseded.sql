-- What is superseded is found without reading all memories: of what was ranked, a search takes it away.

create index superseded_memories on memories (id) where status = 'superseded';
