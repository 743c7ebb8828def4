-- Takes the lease, as extend.sql extends it. The token is a time, so that the tokens
-- of two servers, one of which was behind when it became the primary, are not equal.
-- $1 shard, $2 holder, $3 microseconds. No row: absent, or held by another.
INSERT INTO outbox_event_progress (shard, n, swept, position, lease_holder, lease_token, lease_server, lease_until)
SELECT shard, n + 1, swept, position, $2,
	greatest(lease_token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), {{server}},
	clock_timestamp() + $3::bigint * interval '1 microsecond'
FROM (SELECT * FROM outbox_event_progress WHERE shard = $1 ORDER BY n DESC LIMIT 1 FOR KEY SHARE) AS newest
WHERE lease_holder = $2 OR lease_until <= clock_timestamp()
ON CONFLICT (shard, n) DO NOTHING
