-- Notes another failure of an event that stands aside.
-- ?1 id, ?2 attempts, ?3 age, ?4 error, ?5 microseconds until the next attempt.
UPDATE outbox_retries SET
	attempts = ?2, age_us = ?3, last_error = ?4,
	first_failed_at = coalesce(first_failed_at, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
	next_retry_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + ?5
WHERE id = ?1
