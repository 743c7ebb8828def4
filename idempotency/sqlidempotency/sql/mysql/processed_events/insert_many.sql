-- ? batch, ? a JSON array of [event id, consumer, event type, aggregate id],
-- sorted by both ids so that two batches lock in one order. The last insert id
-- is 0 when all rows are new, else 1; then picked.sql tells which are.
INSERT INTO {{table}} (batch, event_id, consumer_service, event_type, aggregate_id)
SELECT ?, r.k, r.g, r.t, r.a FROM JSON_TABLE(?, '$[*]' COLUMNS (
    k VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', g VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[1]',
    t VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[2]', a VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[3]')) AS r
ON DUPLICATE KEY UPDATE event_id = IF(LAST_INSERT_ID(1), {{table}}.event_id, {{table}}.event_id)
