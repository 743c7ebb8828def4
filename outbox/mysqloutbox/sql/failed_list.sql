-- ? after id, ? rows.
SELECT id, shard, topic, message_id, message_key, headers, payload,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at), attempts, last_error,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', first_failed_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', failed_at)
FROM outbox_failed WHERE id > ? ORDER BY id LIMIT ?
