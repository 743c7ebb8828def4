-- Makes a topic on the lanes after all others, or takes over a new retention.
-- ? name, ? partitions, ? retention in microseconds.
INSERT INTO bus_topics (name, first_lane, partitions, retention)
SELECT ?, free.lane, ?, ? FROM (SELECT COALESCE(MAX(first_lane + partitions), 0) AS lane FROM bus_topics) AS free
ON DUPLICATE KEY UPDATE retention = IF(VALUES(retention) > 0, VALUES(retention), bus_topics.retention)
