-- name: AddShow
INSERT INTO shows (show_id, title, position) VALUES ($1, $2, $3) ON CONFLICT (show_id) DO NOTHING

-- name: AddSeat
INSERT INTO seats (show_id, seat_id, position, price) VALUES ($1, $2, $3, $4) ON CONFLICT (show_id, seat_id) DO NOTHING

-- name: CountSeats
SELECT COUNT(*) FROM seats WHERE show_id = $1

-- name: RecordEffect
INSERT INTO effects (consumer_group, event_id, event_type, aggregate_id, effect, handled_at)
VALUES ($1, $2, $3, $4, $5, now_ms())

-- name: TakeLease
INSERT INTO leases (name, holder, token, expires_at) VALUES ($1, $2, 1, now_ms() + $3)
ON CONFLICT (name) DO UPDATE SET
  token      = CASE WHEN leases.holder = excluded.holder THEN leases.token ELSE leases.token + 1 END,
  holder     = excluded.holder,
  expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= now_ms()
RETURNING token

-- name: KeepLease
UPDATE leases SET expires_at = now_ms() + $4
WHERE name = $1 AND holder = $2 AND token = $3

-- name: DropLease
UPDATE leases SET expires_at = 0 WHERE name = $1 AND holder = $2 AND token = $3

-- name: KnowsMember
SELECT COUNT(*) FROM members WHERE member_id = $1

-- name: AddMember
INSERT INTO members (member_id, created_at) VALUES ($1, now_ms()) ON CONFLICT (member_id) DO NOTHING
