-- ?1 topic, ?2 group.
SELECT member FROM bus_members
WHERE topic = ?1 AND consumer = ?2 AND live_until > CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000
ORDER BY id
