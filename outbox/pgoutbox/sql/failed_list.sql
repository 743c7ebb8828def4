-- $1 after id, $2 rows.
SELECT id, shard, topic, message_id, message_key, headers, payload,
	(extract(epoch FROM created_at) * 1000000)::bigint, attempts, last_error,
	(extract(epoch FROM first_failed_at) * 1000000)::bigint, (extract(epoch FROM failed_at) * 1000000)::bigint
FROM outbox_failed WHERE id > $1 ORDER BY id LIMIT $2
