-- ? lane.
INSERT INTO {{.Messages}}_lanes (lane) VALUES (?) ON DUPLICATE KEY UPDATE lane = VALUES(lane)
