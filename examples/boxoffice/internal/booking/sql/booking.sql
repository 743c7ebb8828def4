-- name: Deadline
SELECT now_ms() + $1

-- name: Insert
INSERT INTO reservations (reservation_id, show_id, member_id, status, amount, hold_expires_at, created_at)
VALUES ($1, $2, $3, 'PENDING', $4, $5, $6)

-- name: ByID
SELECT r.reservation_id, r.show_id, r.member_id, r.status, COALESCE(r.reason, ''), r.amount, r.hold_expires_at,
       r.created_at, COALESCE(r.transferred_at, 0),
       COALESCE(p.payment_id, ''), COALESCE(p.status, ''), COALESCE(p.failure_reason, ''),
       COALESCE(p.refund_state, 'NONE'), COALESCE(p.refund_reason, '')
FROM reservations r LEFT JOIN payments p ON p.reference_id = r.reservation_id AND p.type = 'reservation'
WHERE r.reservation_id = $1 AND r.member_id = $2

-- name: ByMember
SELECT r.reservation_id, r.show_id, r.member_id, r.status, COALESCE(r.reason, ''), r.amount, r.hold_expires_at,
       r.created_at, COALESCE(r.transferred_at, 0),
       COALESCE(p.payment_id, ''), COALESCE(p.status, ''), COALESCE(p.failure_reason, ''),
       COALESCE(p.refund_state, 'NONE'), COALESCE(p.refund_reason, '')
FROM reservations r LEFT JOIN payments p ON p.reference_id = r.reservation_id AND p.type = 'reservation'
WHERE r.member_id = $1
ORDER BY r.created_at DESC, r.reservation_id DESC
LIMIT $2

-- name: SeatsOf
SELECT seat_id FROM reservation_seats WHERE reservation_id = $1 ORDER BY position

-- name: SeatsOfMember
SELECT s.reservation_id, s.seat_id
FROM reservation_seats s JOIN reservations r ON r.reservation_id = s.reservation_id
WHERE r.member_id = $1
ORDER BY s.reservation_id, s.position

-- name: Lock
SELECT show_id, member_id, status, COALESCE(reason, ''), amount, hold_expires_at,
       hold_expires_at <= now_ms(), COALESCE(payment_id, ''), COALESCE(transferred_at, 0)
FROM reservations WHERE reservation_id = $1 FOR UPDATE

-- name: Confirm
UPDATE reservations SET status = 'CONFIRMED', payment_id = $2, confirmed_at = now_ms()
WHERE reservation_id = $1 AND status = 'PENDING'
RETURNING show_id, member_id, confirmed_at

-- name: CancelPending
UPDATE reservations SET status = 'CANCELLED', reason = $2, cancelled_at = now_ms()
WHERE reservation_id = $1 AND status = 'PENDING'
RETURNING show_id, member_id, cancelled_at

-- name: CancelRefunded
UPDATE reservations SET status = 'CANCELLED', reason = 'REFUNDED', cancelled_at = now_ms()
WHERE reservation_id = $1 AND (status = 'PENDING' OR status = 'CONFIRMED' AND payment_id = $2)
RETURNING show_id, member_id, cancelled_at

-- name: NextDue
SELECT MIN(hold_expires_at) - now_ms() FROM reservations WHERE status = 'PENDING'

-- name: Overdue
SELECT reservation_id FROM reservations
WHERE status = 'PENDING' AND hold_expires_at <= now_ms()
ORDER BY hold_expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
