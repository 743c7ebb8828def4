SELECT shard, count(*) FROM outbox_events WHERE state = 'FAILED' GROUP BY shard
