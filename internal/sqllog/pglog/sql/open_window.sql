-- Opens the window between the snapshot a cursor covers and now, and reads its
-- first rows by id. The statement's own snapshot is the window's upper end, so
-- every row it can see is in it.
--
-- The planner takes a bare function for a condition that few rows meet, and
-- would rather sort the whole backlog than walk the primary key; it takes
-- "<> 1" for one that most rows meet, which is so. For the same reason the end
-- of the window is a number of rows here, and not an id.
-- $1 lane, $2 covered snapshot, $3 its xmax, $4 its in-progress ids, $5 rows.
WITH opened AS MATERIALIZED (
	SELECT pg_current_snapshot() AS upto
), bounds AS MATERIALIZED (
	SELECT min(id) AS first_id, max(id) AS last_id, count(*) AS n
	FROM (
		SELECT id FROM {{.Messages}} WHERE lane = $1 AND xid >= $3::xid8
		UNION ALL
		SELECT id FROM {{.Messages}} WHERE lane = $1 AND xid = ANY ($4::xid8[])
	) AS fresh
)
SELECT o.upto::text, coalesce(b.last_id, 0), coalesce(m.id, 0), coalesce(m.topic, ''), coalesce(m.message_id, ''),
	coalesce(m.message_key, ''), coalesce(m.headers, ''), coalesce(m.payload, ''), coalesce(m.created_at, 'epoch')
FROM opened AS o CROSS JOIN bounds AS b
LEFT JOIN LATERAL (
	SELECT id, topic, message_id, message_key, headers, payload, created_at
	FROM {{.Messages}}
	WHERE lane = $1 AND id >= b.first_id
		AND pg_visible_in_snapshot(xid, $2::pg_snapshot)::integer <> 1
	ORDER BY id LIMIT (SELECT least($5::bigint, n) FROM bounds)
) AS m ON true
