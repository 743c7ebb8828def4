-- Notes a failed event of the log, in its place or aside, or one that moves
-- aside behind another. A row that is there keeps its seq.
-- $1 id, $2 shard, $3 topic, $4 message id, $5 key, $6 headers, $7 payload (null in its place),
-- $8 created at in microseconds since 1970, $9 aside, $10 attempts, $11 age, $12 error,
-- $13 microseconds until the next attempt.
INSERT INTO outbox_retries (id, shard, topic, message_id, message_key, headers, payload, created_at,
	aside, attempts, age_us, last_error, first_failed_at, next_retry_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, timestamptz 'epoch' + $8::bigint * interval '1 microsecond',
	$9, $10::integer, $11, $12,
	CASE WHEN $10::integer > 0 THEN clock_timestamp() END,
	CASE WHEN $10::integer > 0 THEN clock_timestamp() + $13::bigint * interval '1 microsecond' END)
ON CONFLICT (id) DO UPDATE SET
	payload = excluded.payload, aside = excluded.aside, attempts = excluded.attempts,
	age_us = excluded.age_us, last_error = excluded.last_error,
	first_failed_at = coalesce(outbox_retries.first_failed_at, excluded.first_failed_at),
	next_retry_at = excluded.next_retry_at
