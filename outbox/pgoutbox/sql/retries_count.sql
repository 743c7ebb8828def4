-- Per shard: events aside, events that failed, and the oldest of those aside.
SELECT shard, count(*) FILTER (WHERE aside), count(*) FILTER (WHERE attempts > 0),
	coalesce((extract(epoch FROM min(created_at) FILTER (WHERE aside)) * 1000000)::bigint, 0)
FROM outbox_retries GROUP BY shard
