-- Failing events that keep their place.
-- ?1 shard.
SELECT id, attempts, age_us, max(0, coalesce(next_retry_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, 0))
FROM outbox_retries WHERE shard = ?1 AND NOT aside
