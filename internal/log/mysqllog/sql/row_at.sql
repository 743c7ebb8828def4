-- The row at a place.
-- ? lane, ? place.
SELECT id FROM {{.Messages}} FORCE INDEX ({{.Messages}}_lane) WHERE lane = ? AND seq = ?
