-- $1 shard, $2 a JSON array of keys, $3 rows.
SELECT id, topic, message_id, message_key, headers, payload,
	(extract(epoch FROM created_at) * 1000000)::bigint, attempts, age_us
FROM outbox_retries
WHERE shard = $1 AND aside AND message_key IN (SELECT jsonb_array_elements_text($2::text::jsonb))
ORDER BY seq LIMIT $3
