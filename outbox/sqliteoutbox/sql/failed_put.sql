-- Gives an event up.
-- ?1 id, ?2 shard, ?3 topic, ?4 message id, ?5 key, ?6 headers, ?7 payload, ?8 created at,
-- ?9 attempts, ?10 error.
INSERT INTO outbox_failed (id, shard, topic, message_id, message_key, headers, payload, created_at,
	attempts, last_error, first_failed_at, failed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
	coalesce((SELECT r.first_failed_at FROM outbox_retries AS r WHERE r.id = ?1), CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000), CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
ON CONFLICT (id) DO NOTHING
