-- Notes a failed event of the log, in its place or aside, or one that moves
-- aside behind another. A row that is there keeps its seq.
-- ? id, ? shard, ? topic, ? message id, ? key, ? headers, ? payload (null in its place),
-- ? created at in microseconds since 1970, ? aside, ? attempts, ? age, ? error,
-- ? microseconds until the next attempt.
INSERT INTO outbox_retries (id, shard, topic, message_id, message_key, headers, payload, created_at,
	aside, attempts, age_us, last_error, first_failed_at, next_retry_at)
VALUES (?, ?, ?, ?, ?, ?, ?, TIMESTAMPADD(MICROSECOND, ?, '1970-01-01 00:00:00.000000'), ?, ?, ?, ?,
	IF(attempts > 0, UTC_TIMESTAMP(6), NULL),
	IF(attempts > 0, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, NULL))
ON DUPLICATE KEY UPDATE
	payload = VALUES(payload), aside = VALUES(aside), attempts = VALUES(attempts),
	age_us = VALUES(age_us), last_error = VALUES(last_error),
	first_failed_at = COALESCE(first_failed_at, VALUES(first_failed_at)),
	next_retry_at = VALUES(next_retry_at)
