-- Affects one row if the setting has this value. It takes no lock.
-- ? name, ? value.
SELECT 1 INTO @millrace_found FROM outbox_settings WHERE name = ? AND value = ?
