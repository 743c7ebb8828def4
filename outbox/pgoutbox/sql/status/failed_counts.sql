SELECT shard, count(*) FROM outbox_events WHERE state = 'FAILED' AND (aside OR attempts > 0) GROUP BY shard
