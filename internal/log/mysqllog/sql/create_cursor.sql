-- A new cursor starts before the earliest retained entry.
-- ? consumer, ? lane.
INSERT INTO {{.Cursors}} (consumer, lane) VALUES (?, ?) ON DUPLICATE KEY UPDATE lane = VALUES(lane)
