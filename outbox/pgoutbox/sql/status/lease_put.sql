-- The first row of a shard. It looks from the newest row on: at the other end there
-- may be many that are deleted.
-- $1 shard, $2 position.
INSERT INTO outbox_event_progress (shard, n, position) SELECT $1, 0, $2
WHERE (SELECT n FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1) IS NULL
ON CONFLICT (shard, n) DO NOTHING
