-- group, lane.
INSERT INTO bus_starts (consumer, lane, starts) VALUES (?, ?, 1)
ON DUPLICATE KEY UPDATE starts = starts + 1
