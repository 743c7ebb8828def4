-- The first value stays, and then no row is affected. ?1 name, ?2 value.
INSERT IGNORE INTO outbox_event_settings (name, value) VALUES (?1, ?2)
