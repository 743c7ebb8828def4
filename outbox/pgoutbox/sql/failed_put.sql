-- Gives an event up.
-- $1 id, $2 shard, $3 topic, $4 message id, $5 key, $6 headers, $7 payload,
-- $8 created at in microseconds since 1970, $9 attempts, $10 error.
INSERT INTO outbox_failed (id, shard, topic, message_id, message_key, headers, payload, created_at,
	attempts, last_error, first_failed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, timestamptz 'epoch' + $8::bigint * interval '1 microsecond', $9, $10,
	coalesce((SELECT r.first_failed_at FROM outbox_retries AS r WHERE r.id = $1), clock_timestamp()))
ON CONFLICT (id) DO NOTHING
