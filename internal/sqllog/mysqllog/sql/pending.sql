-- The lane's next place and its committed rows without one, without a lock. The
-- first row, if any, is the place.
-- ? lane, ? lane, ? rows at most.
SELECT next_seq AS n, 0 AS row_id FROM {{.Messages}}_lanes WHERE lane = ?
UNION ALL
(SELECT 0, id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 ORDER BY id LIMIT ?)
