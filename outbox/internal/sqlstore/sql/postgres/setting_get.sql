-- $1 name.
SELECT value FROM {{settings}} WHERE name = $1
