-- The committed rows without a place, by a second look at the same server.
-- ? lane, the spans of the first look, ? last id, ? server.
SELECT id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 AND {{inSpans}} AND id <= ? AND {{server}} = ? ORDER BY id
