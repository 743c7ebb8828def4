-- ?1 a JSON array of ids.
DELETE FROM outbox_failed WHERE id IN (SELECT value FROM json_each(?1))
