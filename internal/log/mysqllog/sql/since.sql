-- The place before the first row appended at or after a time, or the last place
-- given when there is none.
-- ? lane, ? microseconds since 1970, ? lane.
SELECT COALESCE(
	(SELECT MIN(seq) - 1 FROM {{.Messages}} WHERE lane = ? AND seq > 0
		AND created_at >= TIMESTAMPADD(MICROSECOND, ?, '1970-01-01 00:00:00.000000')),
	(SELECT next_seq - 1 FROM {{.Messages}}_lanes WHERE lane = ?),
	0)
