-- Every statement returns the breaches of a rule, in words; without rows the rule holds.

-- name: SoldSeats
SELECT 'seat ' || s.show_id || ' ' || s.seat_id || ' is SOLD without a confirmed reservation'
FROM seats s
WHERE s.status = 'SOLD' AND NOT EXISTS (
  SELECT 1 FROM reservation_seats k JOIN reservations r ON r.reservation_id = k.reservation_id
  WHERE r.reservation_id = s.reservation_id AND r.status = 'CONFIRMED' AND k.show_id = s.show_id AND k.seat_id = s.seat_id)
UNION ALL
SELECT 'seat ' || s.show_id || ' ' || s.seat_id || ' of confirmed reservation ' || r.reservation_id || ' is ' || s.status
       || CASE WHEN s.reservation_id IS NULL THEN '' ELSE ' for ' || s.reservation_id END
FROM reservations r
JOIN reservation_seats k ON k.reservation_id = r.reservation_id
JOIN seats s ON s.show_id = k.show_id AND s.seat_id = k.seat_id
WHERE r.status = 'CONFIRMED' AND (s.status <> 'SOLD' OR s.reservation_id <> r.reservation_id)

-- name: SeatSoldOnce
SELECT 'seat ' || k.show_id || ' ' || k.seat_id || ' is in ' || COUNT(*) || ' confirmed reservations'
FROM reservation_seats k JOIN reservations r ON r.reservation_id = k.reservation_id
WHERE r.status = 'CONFIRMED'
GROUP BY k.show_id, k.seat_id HAVING COUNT(*) > 1

-- name: HeldSeats
SELECT 'seat ' || s.show_id || ' ' || s.seat_id || ' is held for ' || s.reservation_id || ', which is not PENDING'
FROM seats s
WHERE s.status = 'HOLD' AND NOT EXISTS (
  SELECT 1 FROM reservations r WHERE r.reservation_id = s.reservation_id AND r.status = 'PENDING')
UNION ALL
SELECT 'seat ' || s.show_id || ' ' || s.seat_id || ' of pending reservation ' || r.reservation_id || ' is ' || s.status
FROM reservations r
JOIN reservation_seats k ON k.reservation_id = r.reservation_id
JOIN seats s ON s.show_id = k.show_id AND s.seat_id = k.seat_id
WHERE r.status = 'PENDING' AND (s.status <> 'HOLD' OR s.reservation_id <> r.reservation_id)

-- name: Money
SELECT 'reservation ' || r.reservation_id || ' is CONFIRMED without a payment that was kept'
FROM reservations r
WHERE r.status = 'CONFIRMED' AND NOT EXISTS (
  SELECT 1 FROM payments p
  WHERE p.payment_id = r.payment_id AND p.type = 'reservation' AND p.reference_id = r.reservation_id
    AND p.status = 'SUCCESS' AND p.amount = r.amount)
UNION ALL
SELECT 'payment ' || p.payment_id || ' was kept and its reservation is ' || COALESCE(r.status, 'missing')
FROM payments p LEFT JOIN reservations r ON r.reservation_id = p.reference_id
WHERE p.type = 'reservation' AND p.status = 'SUCCESS' AND (r.status IS NULL OR r.status <> 'CONFIRMED' OR r.payment_id <> p.payment_id)
UNION ALL
SELECT 'payment ' || p.payment_id || ' was kept and its transfer is ' || COALESCE(t.status, 'missing')
FROM payments p LEFT JOIN transfers t ON t.payment_id = p.payment_id
WHERE p.type = 'transfer' AND p.status = 'SUCCESS' AND (t.status IS NULL OR t.status <> 'COMPLETED')
UNION ALL
SELECT 'transfer ' || t.transfer_id || ' is COMPLETED and its payment is ' || p.status
FROM transfers t JOIN payments p ON p.payment_id = t.payment_id
WHERE t.status = 'COMPLETED' AND p.status <> 'SUCCESS'
UNION ALL
SELECT 'transfer ' || t.transfer_id || ' is COMPLETED and its receiver has not the ticket'
FROM transfers t JOIN reservations r ON r.reservation_id = t.reservation_id
WHERE t.status = 'COMPLETED' AND r.member_id <> t.to_member_id AND NOT EXISTS (
  SELECT 1 FROM transfers o WHERE o.reservation_id = t.reservation_id AND o.status = 'COMPLETED' AND o.from_member_id = t.to_member_id)
UNION ALL
SELECT 'payment ' || p.payment_id || ' was kept and its membership is ' || COALESCE(m.status, 'missing')
FROM payments p LEFT JOIN memberships m ON m.payment_id = p.payment_id
WHERE p.type = 'membership' AND p.status = 'SUCCESS' AND (m.status IS NULL OR m.status <> 'ACTIVE')
UNION ALL
SELECT 'membership ' || m.membership_id || ' is ACTIVE and its payment is ' || p.status
FROM memberships m JOIN payments p ON p.payment_id = m.payment_id
WHERE m.status = 'ACTIVE' AND p.status <> 'SUCCESS'

-- name: Statistics
SELECT e.name || CASE WHEN s.name IS NULL THEN ' is missing' ELSE ' is ' || s.value END || ', the rows say ' || e.expected
FROM (
  SELECT 'reservations_created' AS name, COUNT(*) AS expected FROM reservations
  UNION ALL SELECT 'reservations_confirmed', COUNT(*) FROM reservations WHERE confirmed_at IS NOT NULL
  UNION ALL SELECT 'reservations_cancelled', COUNT(*) FROM reservations WHERE status = 'CANCELLED'
  UNION ALL SELECT 'refund_amount', COALESCE(SUM(amount), 0) FROM payments WHERE status = 'REFUNDED'
  UNION ALL SELECT 'transfer_amount', COALESCE(SUM(amount), 0) FROM transfers WHERE status = 'COMPLETED'
  UNION ALL SELECT 'transfers_completed', COUNT(*) FROM transfers WHERE status = 'COMPLETED'
  UNION ALL SELECT 'transfers_cancelled', COUNT(*) FROM transfers WHERE status = 'CANCELLED'
  UNION ALL SELECT 'memberships', COUNT(*) FROM memberships WHERE activated_at IS NOT NULL
) e LEFT JOIN stats s ON s.name = e.name
WHERE s.name IS NULL OR s.value <> e.expected

-- name: HandledOnce
SELECT consumer_group || ' handled event ' || event_id || ' ' || COUNT(*) || ' times'
FROM effects
GROUP BY consumer_group, event_id HAVING COUNT(*) > 1

-- name: NothingLost
-- For each group and type of event: as many effects as the rows say events happened.
SELECT e.consumer_group || ' handled ' || COALESCE(d.n, 0) || ' ' || e.event_type || ', the rows say ' || e.expected
FROM (
            SELECT 'stats-service-group' AS consumer_group, 'ReservationCreated' AS event_type, COUNT(*) AS expected FROM reservations
  UNION ALL SELECT 'stats-service-group', 'ReservationConfirmed', COUNT(*) FROM reservations WHERE confirmed_at IS NOT NULL
  UNION ALL SELECT 'stats-service-group', 'ReservationCancelled', COUNT(*) FROM reservations WHERE status = 'CANCELLED'
  UNION ALL SELECT 'event-reservation-consumer', 'ReservationCancelled', COUNT(*) FROM reservations WHERE status = 'CANCELLED'
  UNION ALL SELECT 'reservation-payment-consumer', 'PaymentSuccess', COUNT(*) FROM payments WHERE status IN ('SUCCESS', 'REFUNDED')
  UNION ALL SELECT 'reservation-payment-consumer', 'PaymentFailed', COUNT(*) FROM payments WHERE status = 'FAILED'
  UNION ALL SELECT 'reservation-payment-consumer', 'PaymentRefunded', COUNT(*) FROM payments WHERE status = 'REFUNDED'
  UNION ALL SELECT 'event-payment-consumer', 'PaymentSuccess', COUNT(*) FROM payments WHERE status IN ('SUCCESS', 'REFUNDED')
  UNION ALL SELECT 'ticket-service-group', 'PaymentSuccess', COUNT(*) FROM payments WHERE status IN ('SUCCESS', 'REFUNDED')
  UNION ALL SELECT 'ticket-service-group', 'PaymentFailed', COUNT(*) FROM payments WHERE status = 'FAILED'
  UNION ALL SELECT 'stats-service-group', 'PaymentRefunded', COUNT(*) FROM payments WHERE status = 'REFUNDED'
  UNION ALL SELECT 'stats-service-group', 'TransferCompleted', COUNT(*) FROM transfers WHERE status = 'COMPLETED'
  UNION ALL SELECT 'stats-service-group', 'TransferCancelled', COUNT(*) FROM transfers WHERE status = 'CANCELLED'
  UNION ALL SELECT 'stats-service-group', 'MembershipActivated', COUNT(*) FROM memberships WHERE activated_at IS NOT NULL
  UNION ALL SELECT 'order-service-group', 'OrderCompleted', COUNT(*) FROM reservations WHERE confirmed_at IS NOT NULL
  UNION ALL SELECT 'aggregate_queue', 'CommentCountDeltaPublished', COUNT(*) + COUNT(deleted_at) FROM comments
  UNION ALL SELECT 'notification_queue', 'CommentCreated', COUNT(*) FROM comments
  UNION ALL SELECT 'notification_queue', 'VoteClosed', COUNT(*) FROM votes WHERE closed_at IS NOT NULL
) e
LEFT JOIN (SELECT consumer_group, event_type, COUNT(DISTINCT event_id) AS n FROM effects GROUP BY consumer_group, event_type) d
  ON d.consumer_group = e.consumer_group AND d.event_type = e.event_type
WHERE COALESCE(d.n, 0) <> e.expected

-- name: CommentCounts
-- A count may be late for a while; then it is wrong.
SELECT 'show ' || s.show_id || ' counts ' || s.comment_count || ' comments, the rows say ' || COALESCE(c.visible, 0)
FROM shows s CROSS JOIN (SELECT now_ms() - $1 AS since) g LEFT JOIN (
  SELECT show_id, COUNT(*) - COUNT(deleted_at) AS visible, MAX(created_at) AS written, MAX(deleted_at) AS deleted
  FROM comments GROUP BY show_id
) c ON c.show_id = s.show_id
WHERE s.comment_count <> COALESCE(c.visible, 0) AND COALESCE(c.written, 0) <= g.since AND COALESCE(c.deleted, 0) <= g.since

-- name: ChatPlaces
-- The places of a room are 1 to the last one that was given out.
SELECT 'room ' || r.room_id || ' has given out ' || r.last_seq || ' places and has ' || COALESCE(m.kept, 0)
       || ' messages, from ' || COALESCE(m.lowest, 0) || ' to ' || COALESCE(m.highest, 0)
FROM chat_rooms r LEFT JOIN (
  SELECT room_id, COUNT(*) AS kept, MIN(seq) AS lowest, MAX(seq) AS highest FROM chat_messages GROUP BY room_id
) m ON m.room_id = r.room_id
WHERE COALESCE(m.kept, 0) <> r.last_seq OR COALESCE(m.highest, 0) <> r.last_seq OR COALESCE(m.lowest, 1) <> 1
UNION ALL
SELECT 'room ' || m.room_id || ' has ' || COUNT(*) || ' messages and gives out no places'
FROM chat_messages m
WHERE NOT EXISTS (SELECT 1 FROM chat_rooms r WHERE r.room_id = m.room_id)
GROUP BY m.room_id

-- name: NothingStuck
SELECT 'reservation ' || reservation_id || ' is PENDING though its hold is over'
FROM reservations WHERE status = 'PENDING' AND hold_expires_at <= now_ms() - $1 AND (hold_expires_at <= now_ms() - $1 - $2 OR NOT EXISTS (
  SELECT 1 FROM payments p WHERE p.reference_id = reservation_id AND p.type = 'reservation' AND p.status IN ('PROCESSING', 'SUCCESS')))
UNION ALL
SELECT 'payment ' || p.payment_id || ' has been PROCESSING for ' || ((now_ms() - p.created_at) / 1000) || ' s: ' || COALESCE(p.last_error, 'no attempt has ended')
FROM payments p LEFT JOIN transfers t ON t.payment_id = p.payment_id
WHERE p.status = 'PROCESSING' AND COALESCE(t.accepted_at, t.expires_at, p.created_at) <= now_ms() - $2
UNION ALL
SELECT 'the refund of payment ' || payment_id || ' was asked for ' || ((now_ms() - refund_asked_at) / 1000) || ' s ago: ' || COALESCE(last_error, 'no attempt has ended')
FROM payments WHERE refund_state = 'REQUESTED' AND refund_asked_at <= now_ms() - $2

-- name: Moving
-- Counts the work under way in the tables: ended holds, payments but those of open
-- offers, refunds, comments that were written or deleted a while ago and are not
-- counted.
SELECT (SELECT COUNT(*) FROM reservations WHERE status = 'PENDING' AND hold_expires_at <= now_ms())
     + (SELECT COUNT(*) FROM payments p LEFT JOIN transfers t ON t.payment_id = p.payment_id
        WHERE p.status = 'PROCESSING' AND (t.accepted_at IS NOT NULL OR COALESCE(t.expires_at, 0) <= now_ms()) OR p.refund_state = 'REQUESTED')
     + (SELECT COUNT(*) FROM shows s CROSS JOIN (SELECT now_ms() - $1 AS since) g JOIN (
          SELECT show_id, COUNT(*) - COUNT(deleted_at) AS visible, MAX(created_at) AS written, MAX(deleted_at) AS deleted
          FROM comments GROUP BY show_id
        ) c ON c.show_id = s.show_id
        WHERE s.comment_count <> c.visible AND (c.written > g.since OR c.deleted > g.since))

-- name: Balance
-- Kept payments of reservations, and confirmed reservations: equal numbers.
SELECT (SELECT COUNT(*) FROM payments WHERE type = 'reservation' AND status IN ('SUCCESS', 'REFUNDED')),
       (SELECT COUNT(*) FROM payments WHERE type = 'reservation' AND status = 'REFUNDED'),
       (SELECT COUNT(*) FROM reservations WHERE status = 'CONFIRMED'),
       (SELECT COUNT(*) FROM seats WHERE status = 'SOLD')

-- name: Payments
SELECT payment_key, payment_id, status, amount, refund_state, COALESCE(failure_reason, '') FROM payments
