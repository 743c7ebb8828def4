-- ? counter, ? a JSON array of [key, delta], sorted by key
INSERT INTO count_totals (counter, counter_key, total)
SELECT ?, r.k, r.n FROM JSON_TABLE(?, '$[*]' COLUMNS (
    k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', n BIGINT PATH '$[1]')) AS r
ON DUPLICATE KEY UPDATE total = count_totals.total + VALUES(total), updated_at = UTC_TIMESTAMP(6)
