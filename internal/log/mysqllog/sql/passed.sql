-- How far every cursor of the lane has come, null when it has none, and the server.
-- ? lane.
SELECT MIN(last_seq), {{server}} FROM {{.Cursors}} WHERE lane = ?
