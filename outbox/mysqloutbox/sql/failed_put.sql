-- Gives an event up. One that was given up before stays as it is.
-- ? id, ? shard, ? topic, ? message id, ? key, ? headers, ? payload,
-- ? created at in microseconds since 1970, ? attempts, ? error.
INSERT INTO outbox_failed (id, shard, topic, message_id, message_key, headers, payload, created_at,
	attempts, last_error, first_failed_at)
WITH event AS (SELECT ? AS id)
SELECT event.id, ?, ?, ?, ?, ?, CAST(? AS BINARY), TIMESTAMPADD(MICROSECOND, ?, '1970-01-01 00:00:00.000000'), ?, ?,
	COALESCE(r.first_failed_at, UTC_TIMESTAMP(6))
FROM event LEFT JOIN outbox_retries AS r ON r.id = event.id
ON DUPLICATE KEY UPDATE shard = outbox_failed.shard
