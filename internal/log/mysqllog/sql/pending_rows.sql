-- The committed rows without a place, by a second look at the same server, whole: as
-- read.sql reads them, in any order.
-- ? lane, the spans of the first look, ? last id, ? server.
SELECT id, seq, topic, message_id, message_key, headers, payload,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)
FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane)
WHERE lane = ? AND seq = 0 AND {{inSpans}} AND id <= ? AND {{server}} = ?
