-- ? batch, ? a JSON array of [key, group, event type, aggregate id], sorted by
-- key so that two batches lock in one order. The last insert id is 0 when all
-- rows are new, else 1; then picked.sql tells which are.
INSERT INTO {{table}} (batch, idempotency_key, consumer_group, event_type, aggregate_id)
SELECT ?, r.k, r.g, r.t, r.a FROM JSON_TABLE(?, '$[*]' COLUMNS (
    k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', g VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[1]',
    t VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[2]', a VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[3]')) AS r
ON DUPLICATE KEY UPDATE idempotency_key = IF(LAST_INSERT_ID(1), {{table}}.idempotency_key, {{table}}.idempotency_key)
