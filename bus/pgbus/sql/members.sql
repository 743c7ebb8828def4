-- $1 topic, $2 group.
SELECT member FROM bus_members
WHERE topic = $1 AND consumer = $2 AND live_until > clock_timestamp() AND progress = 1
ORDER BY id
