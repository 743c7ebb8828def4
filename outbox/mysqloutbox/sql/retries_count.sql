-- Per shard: events aside, events that failed, and the oldest of those aside.
SELECT shard, SUM(aside), SUM(attempts > 0),
	COALESCE(MIN(IF(aside, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at), NULL)), 0)
FROM outbox_retries GROUP BY shard
