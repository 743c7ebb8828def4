-- name: AddRoom
INSERT INTO chat_rooms (room_id) VALUES ($1) ON CONFLICT (room_id) DO NOTHING

-- name: AddMember
INSERT INTO chat_members (room_id, member_id, joined_at) VALUES ($1, $2, now_ms())
ON CONFLICT (room_id, member_id) DO NOTHING

-- name: RemoveMember
DELETE FROM chat_members WHERE room_id = $1 AND member_id = $2

-- name: IsMember
SELECT COUNT(*) FROM chat_members WHERE room_id = $1 AND member_id = $2

-- name: RoomsOf
SELECT room_id, joined_at FROM chat_members WHERE member_id = $1 ORDER BY room_id

-- name: Lock
-- Locks the room for other senders until the commit.
SELECT last_seq FROM chat_rooms WHERE room_id = $1 FOR UPDATE

-- name: Last
SELECT last_seq FROM chat_rooms WHERE room_id = $1

-- name: Stored
SELECT COUNT(*) FROM chat_messages WHERE message_id = $1

-- name: Next
UPDATE chat_rooms SET last_seq = last_seq + 1 WHERE room_id = $1 RETURNING last_seq

-- name: Keep
INSERT INTO chat_messages (room_id, seq, message_id, sender_id, message, sent_at) VALUES ($1, $2, $3, $4, $5, $6)

-- name: After
SELECT seq, message_id, sender_id, message, sent_at FROM chat_messages
WHERE room_id = $1 AND seq > $2 ORDER BY seq LIMIT $3

-- name: Before
SELECT seq, message_id, sender_id, message, sent_at FROM chat_messages
WHERE room_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3

-- name: LeftOut
SELECT COUNT(*) FROM (SELECT sent_at FROM chat_messages WHERE room_id = $1 AND seq > $2 AND seq < $3
                      ORDER BY seq DESC LIMIT $4) AS older
WHERE older.sent_at >= $5

-- name: Place
SELECT room_id, seq, sent_at FROM chat_messages WHERE message_id = $1
