-- ? a JSON array of [key, …], ? batch. Returns the keys that the batch inserted.
SELECT m.idempotency_key
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]')) AS r
JOIN {{table}} AS m ON m.idempotency_key = CAST(r.k AS BINARY)
WHERE m.batch = ?
