-- ?1 after id, ?2 rows.
SELECT id, shard, topic, message_id, message_key, headers, payload, created_at, attempts, last_error,
	first_failed_at, failed_at
FROM outbox_failed WHERE id > ?1 ORDER BY id LIMIT ?2
