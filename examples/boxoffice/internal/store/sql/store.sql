-- name: AddShow
INSERT INTO shows (show_id, title, position) VALUES ($1, $2, $3) ON CONFLICT (show_id) DO NOTHING

-- name: AddSeats
-- A row of the hall at a time.
INSERT INTO seats (show_id, seat_id, position, price) VALUES
       ($1, $2, $3, $4), ($5, $6, $7, $8), ($9, $10, $11, $12), ($13, $14, $15, $16), ($17, $18, $19, $20),
       ($21, $22, $23, $24), ($25, $26, $27, $28), ($29, $30, $31, $32), ($33, $34, $35, $36), ($37, $38, $39, $40),
       ($41, $42, $43, $44), ($45, $46, $47, $48), ($49, $50, $51, $52), ($53, $54, $55, $56), ($57, $58, $59, $60),
       ($61, $62, $63, $64), ($65, $66, $67, $68), ($69, $70, $71, $72), ($73, $74, $75, $76), ($77, $78, $79, $80),
       ($81, $82, $83, $84), ($85, $86, $87, $88), ($89, $90, $91, $92), ($93, $94, $95, $96), ($97, $98, $99, $100)
ON CONFLICT (show_id, seat_id) DO NOTHING

-- name: AddClass
INSERT INTO seat_classes (show_id, class, price) VALUES ($1, $2, $3) ON CONFLICT (show_id, class) DO NOTHING

-- name: AddPerformer
INSERT INTO show_performers (show_id, artist_id, position) VALUES ($1, $2, $3) ON CONFLICT (show_id, artist_id) DO NOTHING

-- name: Bill
-- Once: the dates of a show stay.
UPDATE shows SET venue = $2, city = $3, time_zone = $4, doors_at = $5, starts_at = $6 WHERE show_id = $1 AND starts_at IS NULL

-- name: Now
SELECT now_ms()

-- name: Seeded
-- How many seats a show has, and whether it is known when it is.
SELECT COUNT(*), COALESCE((SELECT COUNT(*) FROM shows WHERE show_id = $1 AND starts_at IS NOT NULL), 0) FROM seats WHERE show_id = $1

-- name: RecordEffect
INSERT INTO effects (consumer_group, event_id, event_type, aggregate_id, effect, handled_at)
VALUES ($1, $2, $3, $4, $5, now_ms())

-- name: TakeLease
-- The token stands first: some databases see the new holder behind it.
UPDATE leases SET token = CASE WHEN holder = $2 THEN token ELSE token + 1 END, holder = $2, expires_at = now_ms() + $3
WHERE name = $1 AND (holder = $2 OR expires_at <= now_ms())
RETURNING token

-- name: MakeLease
-- Ended already: the first process that asks takes it.
INSERT INTO leases (name, holder, token, expires_at) VALUES ($1, '', 0, 0) ON CONFLICT (name) DO NOTHING

-- name: KeepLease
UPDATE leases SET expires_at = now_ms() + $4
WHERE name = $1 AND holder = $2 AND token = $3

-- name: DropLease
UPDATE leases SET expires_at = 0 WHERE name = $1 AND holder = $2 AND token = $3

-- name: KnowsMember
SELECT COUNT(*) FROM members WHERE member_id = $1

-- name: AddMember
INSERT INTO members (member_id, created_at) VALUES ($1, now_ms()) ON CONFLICT (member_id) DO NOTHING

-- name: LastSetting
SELECT version, setting FROM room_settings WHERE event_id = $1 ORDER BY version DESC LIMIT 1

-- name: AddSetting
INSERT INTO room_settings (event_id, version, setting, changed_by, reason, changed_at) VALUES ($1, $2, $3, $4, $5, now_ms())
