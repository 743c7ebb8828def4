-- ?1 shard, ?2 a JSON array of keys, ?3 rows.
SELECT id, topic, message_id, message_key, headers, payload, created_at, attempts, age_us
FROM outbox_retries
WHERE shard = ?1 AND aside AND message_key IN (SELECT value FROM json_each(?2))
ORDER BY seq LIMIT ?3
