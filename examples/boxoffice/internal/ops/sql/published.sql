-- name: Add
UPDATE published SET events = events + $1 WHERE id = 1

-- name: Total
SELECT events FROM published WHERE id = 1
