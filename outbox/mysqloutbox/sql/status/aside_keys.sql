-- The keys that stand aside, with how many events, and the microseconds until
-- the first of each may be tried. As binary strings, because the collation
-- overlooks spaces at the end.
-- ?1 shard.
SELECT e.event_key, keyed.n,
	GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), e.next_retry_at), 0))
FROM (
	SELECT MIN(seq) AS seq, COUNT(*) AS n FROM outbox_events
	WHERE shard = ?1 AND state = 'PENDING' AND aside = TRUE
	GROUP BY CAST(event_key AS BINARY)
) AS keyed JOIN outbox_events AS e ON e.seq = keyed.seq
