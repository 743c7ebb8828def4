SELECT shard, COUNT(*) FROM outbox_failed GROUP BY shard
