-- name: Add
INSERT INTO admissions (event_id, user_id, admitted_at) VALUES ($1, $2, $3)
ON CONFLICT (event_id, user_id, admitted_at) DO NOTHING

-- name: Newest
SELECT event_id, user_id, admitted_at FROM admissions
ORDER BY admitted_at DESC, event_id, user_id LIMIT $1

-- name: NextOld
-- 7 days, as Keep says.
SELECT MIN(admitted_at) + 604800000 - now_ms() FROM admissions

-- name: Edge
SELECT MAX(admitted_at) FROM (
  SELECT admitted_at FROM admissions WHERE admitted_at <= now_ms() - 604800000 ORDER BY admitted_at LIMIT $1
) old

-- name: Forget
DELETE FROM admissions WHERE admitted_at <= $1
