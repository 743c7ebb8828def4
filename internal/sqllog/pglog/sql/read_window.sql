-- Reads on in an open window; open_window.sql says why the conditions look so.
-- $1 lane, $2 from, $3 to, $4 after id, $5 end, $6 rows.
SELECT '', $5::bigint, id, topic, message_id, message_key, headers, payload, created_at
FROM {{.Messages}}
WHERE lane = $1 AND id > $4 AND id <= $5::bigint
	AND pg_visible_in_snapshot(xid, $2::pg_snapshot)::integer <> 1
	AND pg_visible_in_snapshot(xid, $3::pg_snapshot)::integer <> 0
ORDER BY id LIMIT $6
