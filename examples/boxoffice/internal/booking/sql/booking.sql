-- name: Deadline
SELECT now_ms() + $1

-- name: LockMember
-- Holds of one member run one after the other, so that each sees the rows of the one before.
SELECT member_id FROM members WHERE member_id = $1 FOR UPDATE

-- name: Allowance
-- Transferred tickets count for the buyer, and not for the receiver.
-- CASE, and no condition on a payment's type: before its first ANALYZE, PostgreSQL would
-- rather read the whole index of the pending reservations, or of the reservations' payments.
SELECT s.max_held, s.max_bought,
       (SELECT COUNT(CASE r.status WHEN 'PENDING' THEN 1 END)
        FROM reservations r JOIN reservation_seats t ON t.reservation_id = r.reservation_id
        WHERE r.member_id = $1 AND r.show_id = $2),
       (SELECT COUNT(*) FROM payments p
               JOIN reservations r ON r.reservation_id = p.reference_id AND r.payment_id = p.payment_id
               JOIN reservation_seats t ON t.reservation_id = r.reservation_id
        WHERE p.member_id = $1 AND p.status IN ('SUCCESS', 'REFUNDED')
          AND r.show_id = $2 AND r.status = 'CONFIRMED')
FROM shows s WHERE s.show_id = $2

-- name: Insert
INSERT INTO reservations (reservation_id, show_id, member_id, status, amount, hold_expires_at, created_at, correlation_id)
VALUES ($1, $2, $3, 'PENDING', $4, $5, $6, $7)

-- name: ByID
SELECT r.reservation_id, r.show_id, r.member_id, r.status, COALESCE(r.reason, ''), r.amount, r.hold_expires_at,
       r.created_at, COALESCE(r.transferred_at, 0), COALESCE(r.used_at, 0),
       COALESCE(p.payment_id, ''), COALESCE(p.status, ''), COALESCE(p.failure_reason, ''),
       COALESCE(p.refund_state, 'NONE'), COALESCE(p.refund_reason, '')
FROM reservations r LEFT JOIN payments p ON p.reference_id = r.reservation_id AND p.type = 'reservation'
WHERE r.reservation_id = $1 AND r.member_id = $2

-- name: ByMember
SELECT r.reservation_id, r.show_id, r.member_id, r.status, COALESCE(r.reason, ''), r.amount, r.hold_expires_at,
       r.created_at, COALESCE(r.transferred_at, 0), COALESCE(r.used_at, 0),
       COALESCE(p.payment_id, ''), COALESCE(p.status, ''), COALESCE(p.failure_reason, ''),
       COALESCE(p.refund_state, 'NONE'), COALESCE(p.refund_reason, '')
FROM reservations r LEFT JOIN payments p ON p.reference_id = r.reservation_id AND p.type = 'reservation'
WHERE r.member_id = $1
ORDER BY r.created_at DESC, r.reservation_id DESC
LIMIT $2

-- name: SeatsOf
SELECT seat_id FROM reservation_seats WHERE reservation_id = $1 ORDER BY position

-- name: SeatsOfMember
-- Of the reservations that ByMember lists.
SELECT s.reservation_id, s.seat_id
FROM (SELECT reservation_id FROM reservations WHERE member_id = $1
      ORDER BY created_at DESC, reservation_id DESC LIMIT $2) r
JOIN reservation_seats s ON s.reservation_id = r.reservation_id
ORDER BY s.reservation_id, s.position

-- name: Lock
SELECT show_id, member_id, status, COALESCE(reason, ''), amount, hold_expires_at,
       hold_expires_at <= now_ms(), COALESCE(payment_id, ''), COALESCE(transferred_at, 0), COALESCE(used_at, 0)
FROM reservations WHERE reservation_id = $1 FOR UPDATE

-- name: Confirm
UPDATE reservations SET status = 'CONFIRMED', payment_id = $2, confirmed_at = now_ms()
WHERE reservation_id = $1 AND status = 'PENDING'
RETURNING show_id, member_id, confirmed_at

-- name: CancelPending
UPDATE reservations SET status = 'CANCELLED', reason = $2, cancelled_at = now_ms()
WHERE reservation_id = $1 AND status = 'PENDING'
RETURNING show_id, member_id, cancelled_at, correlation_id

-- name: CancelRefunded
UPDATE reservations SET status = 'CANCELLED', reason = 'REFUNDED', cancelled_at = now_ms()
WHERE reservation_id = $1 AND (status = 'PENDING' OR status = 'CONFIRMED' AND payment_id = $2)
RETURNING show_id, member_id, cancelled_at, correlation_id

-- name: NextDue
-- A hold is due at its end unless a payment keeps it: one that has succeeded, whose event
-- is on its way, or one that is under way, for at most $1 ms after the hold's end. Overdue
-- and CancelOverdue say the same.
SELECT (SELECT r.hold_expires_at - now_ms() FROM reservations r
        WHERE r.status = 'PENDING' AND NOT EXISTS (
              SELECT 1 FROM payments p WHERE p.reference_id = r.reservation_id AND p.type = 'reservation'
                 AND (p.status = 'SUCCESS' OR p.status = 'PROCESSING' AND r.hold_expires_at + $1 > now_ms()))
        ORDER BY r.hold_expires_at LIMIT 1)

-- name: Overdue
SELECT r.reservation_id FROM reservations r
WHERE r.status = 'PENDING' AND r.hold_expires_at <= now_ms() AND NOT EXISTS (
      SELECT 1 FROM payments p WHERE p.reference_id = r.reservation_id AND p.type = 'reservation'
         AND (p.status = 'SUCCESS' OR p.status = 'PROCESSING' AND r.hold_expires_at + $1 > now_ms()))
ORDER BY r.hold_expires_at LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: CancelOverdue
-- The row is locked now. A payment that was accepted after Overdue had looked is seen by a
-- new statement only, and no other can be accepted: its insert needs the row's lock.
UPDATE reservations SET status = 'CANCELLED', reason = 'HOLD_TIMEOUT', cancelled_at = now_ms()
WHERE reservation_id = $1 AND status = 'PENDING' AND hold_expires_at <= now_ms() AND NOT EXISTS (
      SELECT 1 FROM payments p WHERE p.reference_id = $1 AND p.type = 'reservation'
         AND (p.status = 'SUCCESS' OR p.status = 'PROCESSING' AND hold_expires_at + $2 > now_ms()))
RETURNING show_id, member_id, cancelled_at, correlation_id
