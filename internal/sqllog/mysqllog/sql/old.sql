-- Old rows of the lane between two places. Only the first ones are looked at,
-- because places grow with age.
-- ? lane, ? from, ? to, ? rows at most, ? older than (microseconds since 1970).
SELECT id FROM (
	SELECT id, created_at FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane)
	WHERE lane = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?
) AS first
WHERE created_at < TIMESTAMPADD(MICROSECOND, ?, '1970-01-01 00:00:00.000000')
