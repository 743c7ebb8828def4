-- Opens the window between the snapshot that a position covers and now, and
-- reads its first pending rows by seq. The statement's own snapshot is the
-- window's upper end, so every row it can see is in it.
--
-- The planner takes a bare function, or a state that few rows have, for a
-- condition that few rows meet, and would rather sort all of them than walk the
-- primary key; it takes "<> 1" for one that most rows meet, which is so. For the
-- same reason the end of the window is a number of rows here, and not a seq.
-- $1 shard, $2 covered snapshot, $3 its xmax, $4 its in-progress ids, $5 rows.
WITH opened AS MATERIALIZED (
	SELECT pg_current_snapshot() AS upto
), bounds AS MATERIALIZED (
	SELECT min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS n
	FROM (
		SELECT seq FROM outbox_events WHERE shard = $1 AND xid >= $3::xid8
		UNION ALL
		SELECT seq FROM outbox_events WHERE shard = $1 AND xid = ANY ($4::xid8[])
	) AS fresh
)
SELECT o.upto::text, coalesce(b.last_seq, 0), coalesce(e.seq, 0), coalesce(e.topic, ''), coalesce(e.id::text, ''),
	coalesce(e.event_key, ''), coalesce(e.headers, ''), coalesce(e.payload, ''), coalesce(e.created_at, 'epoch')
FROM opened AS o CROSS JOIN bounds AS b
LEFT JOIN LATERAL (
	SELECT seq, topic, id, event_key, headers, payload, created_at
	FROM outbox_events
	WHERE shard = $1 AND seq >= b.first_seq
		AND pg_visible_in_snapshot(xid, $2::pg_snapshot)::integer <> 1
		AND (state <> 'PENDING' OR aside)::integer <> 1
	ORDER BY seq LIMIT (SELECT least($5::bigint, n) FROM bounds)
) AS e ON true
