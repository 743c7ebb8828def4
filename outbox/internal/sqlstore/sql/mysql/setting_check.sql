-- Affects one row if the setting has this value. It takes no lock.
-- The name, then the value.
SELECT 1 INTO @millrace_found FROM {{settings}} WHERE name = ? AND value = ?
