-- Affects one row if the setting has this value. It takes no lock.
-- $1 name, $2 value.
SELECT 1 FROM {{settings}} WHERE name = $1 AND value = $2
