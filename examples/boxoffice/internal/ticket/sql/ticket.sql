-- name: Mine
SELECT r.show_id, r.status, r.generation, s.seat_id, COALESCE(u.scanned_at, 0)
FROM reservations r JOIN reservation_seats s ON s.reservation_id = r.reservation_id
LEFT JOIN ticket_scans u ON u.reservation_id = s.reservation_id AND u.seat_id = s.seat_id
WHERE r.reservation_id = $1 AND r.member_id = $2 ORDER BY s.position

-- name: Lock
SELECT status, generation FROM reservations WHERE reservation_id = $1 FOR UPDATE

-- name: RefundOf
SELECT refund_state FROM payments WHERE reference_id = $1 AND type = 'reservation'

-- name: Used
SELECT scanned_at, scan_key FROM ticket_scans WHERE reservation_id = $1 AND seat_id = $2

-- name: Use
INSERT INTO ticket_scans (reservation_id, seat_id, generation, scan_key, scanned_at) VALUES ($1, $2, $3, $4, now_ms())

-- name: MarkUsed
UPDATE reservations SET used_at = COALESCE(used_at, now_ms()) WHERE reservation_id = $1
