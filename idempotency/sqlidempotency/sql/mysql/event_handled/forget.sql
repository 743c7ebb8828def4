-- ? a JSON array of [key].
DELETE m
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]')) AS r
JOIN {{table}} AS m ON m.idempotency_key = CAST(r.k AS BINARY)
