-- The last place is one that an earlier statement saw given, see doc.go.
-- ? lane, ? after, ? last place, ? rows at most.
SELECT id, seq, topic, message_id, message_key, headers, payload,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)
FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane)
WHERE lane = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
