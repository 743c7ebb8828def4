-- "+ 0" because SQLite looks into a parameter that stands alone in LIMIT, to plan for
-- its value, and parses the statement again for each new one.
-- ?1 lane, ?2 after id, ?3 rows at most.
SELECT id, topic, message_id, message_key, headers, payload, created_at
FROM {{.Messages}}
WHERE lane = ?1 AND id > ?2
ORDER BY id LIMIT ?3 + 0
