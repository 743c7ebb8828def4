-- The rows stay locked until the transaction has deleted them. The ids are a
-- derived table, because MySQL refuses FOR UPDATE beside a JSON_TABLE (error 3569).
-- ? a JSON array of ids.
SELECT f.id, f.topic, f.message_id, f.message_key, f.headers, f.payload
FROM (SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids) AS j STRAIGHT_JOIN outbox_failed AS f ON f.id = j.id
FOR UPDATE
