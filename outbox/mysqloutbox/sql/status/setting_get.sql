-- ?1 name.
SELECT value FROM outbox_event_settings WHERE name = ?1
