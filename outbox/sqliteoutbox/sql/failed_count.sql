SELECT shard, count(*) FROM outbox_failed GROUP BY shard
