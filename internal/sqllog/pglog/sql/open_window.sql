-- Opens the window between the snapshot a cursor covers and now, and reads its
-- first rows by id. The statement's own snapshot is the window's upper end, so
-- every row it can see is in it.
-- $1 lane, $2 covered snapshot, $3 its xmax, $4 its in-progress ids, $5 rows.
WITH opened AS MATERIALIZED (
	SELECT pg_current_snapshot() AS upto
), bounds AS MATERIALIZED (
	SELECT min(id) AS first_id, max(id) AS last_id
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
	WHERE lane = $1 AND id BETWEEN b.first_id AND b.last_id
		AND NOT pg_visible_in_snapshot(xid, $2::pg_snapshot)
	ORDER BY id LIMIT $5
) AS m ON true
