-- The first rows of the lane between two places, and whether they are old. Only
-- they are looked at, because places grow with age.
-- ? older than (microseconds since 1970), ? lane, ? from, ? to, ? rows at most.
SELECT id, seq, created_at < TIMESTAMPADD(MICROSECOND, ?, '1970-01-01 00:00:00.000000')
FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane)
WHERE lane = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?
