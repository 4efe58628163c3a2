-- Several processes may fill one queue; a claim keeps two of them from embedding, and paying for, the same chunk.
alter table embed_queue add column claimed_until text;
