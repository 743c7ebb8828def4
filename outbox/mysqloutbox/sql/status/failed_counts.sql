SELECT shard, COUNT(*) FROM outbox_events FORCE INDEX (outbox_events_state)
WHERE shard BETWEEN 0 AND 1023 AND state = 'FAILED' GROUP BY shard
