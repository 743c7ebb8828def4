-- The first value stays, and then no row is affected, as it may be by
-- ON DUPLICATE KEY UPDATE. ? name, ? value.
INSERT IGNORE INTO outbox_settings (name, value) VALUES (?, ?)
