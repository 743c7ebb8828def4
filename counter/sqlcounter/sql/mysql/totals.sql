-- ? a JSON array of keys, ? counter. STRAIGHT_JOIN: the few keys first, each
-- by the primary key.
SELECT STRAIGHT_JOIN t.counter_key, t.total
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$')) AS r
JOIN count_totals AS t ON t.counter = ? AND t.counter_key = CAST(r.k AS BINARY)
