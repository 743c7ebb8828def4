-- Reads on in an open window; open_window.sql says why the conditions look so.
-- $1 shard, $2 from, $3 to, $4 after seq, $5 end, $6 rows.
SELECT '', $5::bigint, seq, topic, id::text, event_key, headers, payload, created_at
FROM outbox_events
WHERE shard = $1 AND seq > $4 AND seq <= $5::bigint
	AND pg_visible_in_snapshot(xid, $2::pg_snapshot)::integer <> 1
	AND pg_visible_in_snapshot(xid, $3::pg_snapshot)::integer <> 0
	AND (state <> 'PENDING' OR aside)::integer <> 1
ORDER BY seq LIMIT $6
