-- ? counter
INSERT INTO count_flushers (counter) VALUES (?) ON DUPLICATE KEY UPDATE counter = VALUES(counter)
