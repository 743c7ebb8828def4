-- Reading begins at the first row; the rows' state tells the pending ones. Leases are void.
-- $1 shard, $2 position.
INSERT INTO outbox_event_progress (shard, n, swept, position, lease_token)
SELECT shard, n + 1, swept, $2, lease_token + 1 FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1
