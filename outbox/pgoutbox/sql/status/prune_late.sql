-- Deletes published rows behind the place of transactions that were running when the
-- place went past them. Returns how many, and which of the transactions are to be
-- looked at again.
-- $1 shard, $2 older than, $3 rows at most, $4 place, $5 the transactions.
WITH late AS MATERIALIZED (
	SELECT ran.xid, e.seq, e.state = 'PUBLISHED' AND e.created_at < $2 AS finished
	FROM unnest($5::text::xid8[]) AS ran(xid) CROSS JOIN LATERAL (
		SELECT seq, state, created_at FROM outbox_events
		WHERE shard = $1 AND xid >= ran.xid AND xid <= ran.xid AND seq <= $4 AND state <> 'FAILED' LIMIT $3
	) AS e
), gone AS (
	DELETE FROM outbox_events
	WHERE shard = $1 AND seq = ANY (ARRAY(SELECT seq FROM late WHERE finished LIMIT $3)) AND state = 'PUBLISHED'
	RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (
	SELECT coalesce(array_agg(ran.xid), '{}')::text FROM unnest($5::text::xid8[]) AS ran(xid)
	WHERE NOT pg_visible_in_snapshot(ran.xid, pg_current_snapshot()) OR EXISTS (SELECT 1 FROM late WHERE late.xid = ran.xid)
)
