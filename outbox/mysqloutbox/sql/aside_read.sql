-- ? shard, ? a JSON array of keys, ? rows.
SELECT id, topic, message_id, message_key, headers, payload,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at), attempts, age_us
FROM outbox_retries
WHERE shard = ? AND aside AND CAST(message_key AS BINARY) IN (
	SELECT CAST(CONVERT(j.k USING utf8mb4) AS BINARY) FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(1000) PATH '$')) AS j)
ORDER BY seq LIMIT ?
