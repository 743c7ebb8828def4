-- The committed rows without a place, by a second look.
-- ? lane, ? last id.
SELECT id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = 0 AND id <= ? ORDER BY id
