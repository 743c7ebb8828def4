-- The newest messages of a lane that no reader has met. ? lane, ? rows at most.
SELECT id, message_id, headers, payload FROM bus_messages FORCE INDEX (bus_messages_lane)
WHERE lane = ? AND seq = 0 ORDER BY id DESC LIMIT ?
