-- The committed rows without a place, by a second look at the same server. In any order:
-- to put them in order the optimizer would rather read the whole index.
-- ? lane, the spans of the first look, ? last id, ? server.
SELECT id, message_id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 AND {{inSpans}} AND id <= ? AND {{server}} = ?
