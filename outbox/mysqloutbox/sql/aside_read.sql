-- ? shard, ? a JSON array of keys, ? rows.
SELECT id, topic, message_id, message_key, headers, payload,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at), attempts, age_us
FROM outbox_retries
WHERE shard = ? AND aside AND message_key IN (
	SELECT CONVERT(j.k USING utf8mb4) COLLATE utf8mb4_bin FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(1000) PATH '$')) AS j)
ORDER BY seq LIMIT ?
