-- The keys that stand aside, with how many events, and the microseconds until
-- the first of each may be tried.
-- $1 shard.
SELECT event_key, count(*),
	greatest(0, coalesce(extract(epoch FROM (array_agg(next_retry_at ORDER BY seq))[1] - clock_timestamp()) * 1000000, 0))::bigint
FROM outbox_events
WHERE shard = $1 AND state = 'PENDING' AND aside AND (aside OR attempts > 0)
GROUP BY event_key
