-- The name.
SELECT value FROM {{settings}} WHERE name = ?
