-- How far every cursor of the lane has come; null when it has none.
-- ? lane.
SELECT MIN(last_seq) FROM {{.Cursors}} WHERE lane = ?
