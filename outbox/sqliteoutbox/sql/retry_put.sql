-- Notes a failed event of the log, in its place or aside, or one that moves
-- aside behind another. A row that is there keeps its seq.
-- ?1 id, ?2 shard, ?3 topic, ?4 message id, ?5 key, ?6 headers, ?7 payload (null in its place),
-- ?8 created at, ?9 aside, ?10 attempts, ?11 age, ?12 error, ?13 microseconds until the next attempt.
INSERT INTO outbox_retries (id, shard, topic, message_id, message_key, headers, payload, created_at,
	aside, attempts, age_us, last_error, first_failed_at, next_retry_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
	CASE WHEN ?10 > 0 THEN CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 END,
	CASE WHEN ?10 > 0 THEN CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + ?13 END)
ON CONFLICT (id) DO UPDATE SET
	payload = excluded.payload, aside = excluded.aside, attempts = excluded.attempts,
	age_us = excluded.age_us, last_error = excluded.last_error,
	first_failed_at = coalesce(first_failed_at, excluded.first_failed_at),
	next_retry_at = excluded.next_retry_at
