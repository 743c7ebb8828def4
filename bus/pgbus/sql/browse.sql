-- The newest messages of a lane, newest first. $1 lane, $2 rows at most.
SELECT id, message_id, headers, payload FROM bus_messages
WHERE lane = $1 ORDER BY id DESC LIMIT $2
