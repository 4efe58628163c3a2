-- What has a rare value is found without reading all that has another.

-- Of all memories: SQLite would scan one of those that have a value in place of an index that has all columns.
create index memories_by_source on memories (source);
create index memories_by_category on memories (category);
create index memories_by_task on memories (task_code) where task_code is not null;
