-- ? topic, ? group.
SELECT member FROM bus_members
WHERE topic = ? AND consumer = ? AND live_until > UTC_TIMESTAMP(6)
ORDER BY id
