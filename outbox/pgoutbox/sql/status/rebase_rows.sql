-- After a restore elsewhere the rows' transaction ids belong to another system.
-- Id 3 is the frozen id: older than every snapshot. Events published since the given
-- time are published again.
-- $1 shard, $2 since.
UPDATE outbox_events SET
	xid = '3',
	state = CASE WHEN again THEN 'PENDING' ELSE state END,
	published = published AND NOT again,
	published_at = CASE WHEN NOT again THEN published_at END
FROM (SELECT seq AS n, state = 'PUBLISHED' AND created_at >= $2 AS again FROM outbox_events WHERE shard = $1) AS r
WHERE shard = $1 AND seq = r.n AND (xid <> '3' OR again)
