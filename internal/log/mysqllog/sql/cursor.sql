-- ? consumer, ? lane.
SELECT last_seq FROM {{.Cursors}} WHERE consumer = ? AND lane = ?
