-- The keys that stand aside, with how many events, and the microseconds until
-- the first of each may be tried. As binary strings, because the collation
-- overlooks spaces at the end.
-- ? shard.
SELECT r.message_key, keyed.n,
	GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), r.next_retry_at), 0))
FROM (
	SELECT MIN(seq) AS seq, COUNT(*) AS n FROM outbox_retries WHERE shard = ? AND aside GROUP BY CAST(message_key AS BINARY)
) AS keyed JOIN outbox_retries AS r ON r.seq = keyed.seq
