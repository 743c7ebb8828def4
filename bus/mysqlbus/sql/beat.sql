-- ? topic, ? group, ? member, ? microseconds.
INSERT INTO bus_members (topic, consumer, member, live_until)
VALUES (?, ?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
ON DUPLICATE KEY UPDATE live_until = VALUES(live_until)
