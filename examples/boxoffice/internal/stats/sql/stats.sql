-- name: Add
UPDATE stats SET value = value + $2 WHERE name = $1

-- name: All
SELECT name, value FROM stats
