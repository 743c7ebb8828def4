-- Affects one row if the setting has this value, and changes nothing.
-- ?1 name, ?2 value.
UPDATE {{settings}} SET value = value WHERE name = ?1 AND value = ?2
