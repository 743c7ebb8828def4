-- name: NextDue
-- The lease lasts from one repair to the next.
SELECT COALESCE((SELECT expires_at - now_ms() FROM leases WHERE name = 'held-seats'), 0)

-- name: Shows
SELECT show_id FROM shows

-- name: Held
SELECT show_id, seat_id, reservation_id FROM seats WHERE status = 'HOLD'
