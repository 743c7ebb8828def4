-- ? a JSON array of [event id, consumer]. Counts those that are recorded.
SELECT COUNT(*)
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', g VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[1]')) AS r
JOIN {{table}} AS m ON m.event_id = CAST(r.k AS BINARY) AND m.consumer_service = CAST(r.g AS BINARY)
