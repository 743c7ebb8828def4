-- $1 shard.
SELECT lease_token, position FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1
