-- ?1 a JSON array of ids.
SELECT id, topic, message_id, message_key, headers, payload FROM outbox_failed
WHERE id IN (SELECT value FROM json_each(?1))
