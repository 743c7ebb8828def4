-- The rows stay locked until the transaction has deleted them.
-- $1 a JSON array of ids.
SELECT id, topic, message_id, message_key, headers, payload FROM outbox_failed
WHERE id IN (SELECT v::bigint FROM jsonb_array_elements_text($1::text::jsonb) AS v)
FOR UPDATE
