-- Extends the lease: appends a row. Two that append the same n take turns, and the
-- second appends nothing. The lock on the newest row is there for a statement that
-- looks at an old snapshot: where that row has been swept it fails or appends nothing,
-- though n + 1 may be free again.
-- $1 shard, $2 token, $3 microseconds, $4 position ('' keeps the last).
INSERT INTO outbox_event_progress (shard, n, swept, position, lease_holder, lease_token, lease_server, lease_until)
SELECT shard, n + 1, swept, coalesce(nullif($4::text, ''), position), lease_holder, lease_token, lease_server,
	clock_timestamp() + $3::bigint * interval '1 microsecond'
FROM (SELECT * FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1 FOR KEY SHARE) AS newest
WHERE lease_token = $2 AND lease_server = {{server}}
ON CONFLICT (shard, n) DO NOTHING
