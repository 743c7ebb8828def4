-- ?1 topic, ?2 group, ?3 member, ?4 microseconds.
INSERT INTO bus_members (topic, consumer, member, live_until)
VALUES (?1, ?2, ?3, CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000 + ?4)
ON CONFLICT (topic, consumer, member) DO UPDATE SET live_until = excluded.live_until
