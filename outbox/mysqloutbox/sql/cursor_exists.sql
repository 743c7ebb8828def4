-- ? consumer, ? lane.
SELECT COUNT(*) FROM outbox_cursors WHERE consumer = ? AND lane = ?
