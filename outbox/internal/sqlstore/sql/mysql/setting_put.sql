-- The first value stays, and then no row is affected, as it may be by
-- ON DUPLICATE KEY UPDATE. The name, then the value.
INSERT IGNORE INTO {{settings}} (name, value) VALUES (?, ?)
