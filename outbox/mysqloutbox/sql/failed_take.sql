-- The rows stay locked until the transaction has deleted them.
-- ? a JSON array of ids.
SELECT f.id, f.topic, f.message_id, f.message_key, f.headers, f.payload
FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j STRAIGHT_JOIN outbox_failed AS f ON f.id = j.id
FOR UPDATE
