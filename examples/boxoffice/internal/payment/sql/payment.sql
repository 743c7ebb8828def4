-- name: ByKey
SELECT payment_id, request_hash FROM payments WHERE payment_key = $1

-- name: Insert
INSERT INTO payments (payment_id, payment_key, request_hash, member_id, type, reference_id, reservation_id,
                      amount, card, card_last4, correlation_id, causation_id, status, next_attempt_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $13, 'PROCESSING', now_ms() + $11, now_ms())

-- name: OfReservation
SELECT payment_id, status FROM payments WHERE reference_id = $1 AND type = 'reservation'

-- name: ByID
SELECT payment_id, payment_key, member_id, type, reference_id, reservation_id, amount, card_last4, status,
       COALESCE(failure_reason, ''), refund_state, COALESCE(refund_reason, ''), created_at
FROM payments WHERE payment_id = $1 AND member_id = $2

-- name: RequestRefund
UPDATE payments SET refund_state = 'REQUESTED', refund_reason = $2, refund_asked_at = now_ms(), attempts = 0, next_attempt_at = now_ms(), last_error = NULL,
                    correlation_id = $3, causation_id = $4
WHERE payment_id = $1 AND status = 'SUCCESS' AND refund_state = 'NONE'

-- name: RefundOfReservation
SELECT refund_state FROM payments WHERE reference_id = $1 AND type = 'reservation'

-- name: NextDue
SELECT MIN(next_attempt_at) - now_ms() FROM payments WHERE status = 'PROCESSING' OR refund_state = 'REQUESTED'

-- name: Claim
UPDATE payments SET lease_holder = $2, lease_token = lease_token + 1, attempts = attempts + 1, next_attempt_at = now_ms() + $3
WHERE payment_id = $1

-- name: Due
-- Returns attempts and token as the claim is going to set them.
SELECT payment_id, payment_key, member_id, type, reference_id, reservation_id, amount, card, status,
       COALESCE(gateway_id, ''), COALESCE(refund_reason, ''), attempts + 1, lease_token + 1,
       correlation_id, causation_id
FROM payments
WHERE (status = 'PROCESSING' OR refund_state = 'REQUESTED') AND next_attempt_at <= now_ms()
ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED

-- name: Reclaim
UPDATE payments SET next_attempt_at = now_ms()
WHERE (status = 'PROCESSING' OR refund_state = 'REQUESTED') AND lease_holder = $1 AND next_attempt_at > now_ms()

-- name: Postpone
UPDATE payments SET next_attempt_at = now_ms() + $3, last_error = $4, lease_holder = NULL
WHERE payment_id = $1 AND lease_token = $2 AND (status = 'PROCESSING' OR refund_state = 'REQUESTED')

-- name: Succeed
UPDATE payments SET status = 'SUCCESS', gateway_id = $2, settled_at = now_ms(), attempts = 0, last_error = NULL, lease_holder = NULL
WHERE payment_id = $1 AND status = 'PROCESSING'
RETURNING settled_at

-- name: Fail
UPDATE payments SET status = 'FAILED', gateway_id = $2, failure_reason = $3, settled_at = now_ms(), last_error = NULL, lease_holder = NULL
WHERE payment_id = $1 AND status = 'PROCESSING'
RETURNING settled_at

-- name: Refunded
UPDATE payments SET status = 'REFUNDED', refund_state = 'DONE', refunded_at = now_ms(), last_error = NULL, lease_holder = NULL
WHERE payment_id = $1 AND status = 'SUCCESS' AND refund_state = 'REQUESTED'
RETURNING refunded_at

-- name: InsertTransfer
-- An offer ends when its payment is due.
INSERT INTO transfers (transfer_id, payment_id, reservation_id, from_member_id, to_member_id, amount, status, created_at, expires_at)
SELECT $1, payment_id, $3, $4, $5, $6, 'PENDING', created_at, next_attempt_at FROM payments WHERE payment_id = $2

-- name: TransferOf
SELECT transfer_id, payment_id, reservation_id, from_member_id, to_member_id, amount, status,
       COALESCE(reason, ''), created_at, expires_at, COALESCE(accepted_at, 0), COALESCE(settled_at, 0)
FROM transfers WHERE payment_id = $1

-- name: Transfer
SELECT transfer_id, payment_id, reservation_id, from_member_id, to_member_id, amount, status,
       COALESCE(reason, ''), created_at, expires_at, COALESCE(accepted_at, 0), COALESCE(settled_at, 0)
FROM transfers WHERE transfer_id = $1

-- name: LockTransfer
SELECT transfer_id, payment_id, reservation_id, from_member_id, to_member_id, amount, status,
       COALESCE(reason, ''), created_at, expires_at, COALESCE(accepted_at, 0), COALESCE(settled_at, 0)
FROM transfers WHERE transfer_id = $1 FOR UPDATE

-- name: TransfersOf
SELECT t.transfer_id, t.payment_id, t.reservation_id, t.from_member_id, t.to_member_id, t.amount, t.status,
       COALESCE(t.reason, ''), t.created_at, t.expires_at, COALESCE(t.accepted_at, 0), COALESCE(t.settled_at, 0)
FROM transfers t WHERE t.from_member_id = $1 OR t.to_member_id = $1
ORDER BY t.created_at DESC, t.transfer_id DESC LIMIT $2

-- name: SeatsOfTransfers
SELECT t.transfer_id, s.show_id, s.seat_id
FROM (SELECT transfer_id, reservation_id FROM transfers WHERE from_member_id = $1 OR to_member_id = $1
      ORDER BY created_at DESC, transfer_id DESC LIMIT $2) t
JOIN reservation_seats s ON s.reservation_id = t.reservation_id
ORDER BY t.transfer_id, s.position

-- name: SeatsOf
SELECT w.title, s.seat_id
FROM reservations r JOIN shows w ON w.show_id = r.show_id JOIN reservation_seats s ON s.reservation_id = r.reservation_id
WHERE r.reservation_id = $1 ORDER BY s.position

-- name: PendingTransfer
SELECT transfer_id FROM transfers WHERE reservation_id = $1 AND status = 'PENDING'

-- name: AcceptTransfer
UPDATE transfers SET accepted_at = now_ms()
WHERE transfer_id = $1 AND status = 'PENDING' AND accepted_at IS NULL AND expires_at > now_ms()
RETURNING accepted_at

-- name: EndOffer
UPDATE transfers SET status = 'CANCELLED', reason = $2, settled_at = now_ms()
WHERE transfer_id = $1 AND status = 'PENDING' AND accepted_at IS NULL
RETURNING settled_at

-- name: ChargeNow
UPDATE payments SET next_attempt_at = now_ms(), attempts = 0 WHERE payment_id = $1 AND status = 'PROCESSING'

-- name: HandOn
UPDATE reservations SET member_id = $3, transferred_at = now_ms(), generation = generation + 1
WHERE reservation_id = $1 AND member_id = $2 AND status = 'CONFIRMED' AND used_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM payments p
                  WHERE p.reference_id = $1 AND p.type = 'reservation' AND p.refund_state <> 'NONE')

-- name: EndTransfer
UPDATE transfers SET status = $2, reason = $3, settled_at = now_ms()
WHERE transfer_id = $1 AND status = 'PENDING'
RETURNING settled_at

-- name: InsertMembership
INSERT INTO memberships (membership_id, payment_id, member_id, amount, status, created_at)
VALUES ($1, $2, $3, $4, 'PENDING', now_ms())

-- name: MembershipOf
SELECT membership_id, member_id, amount FROM memberships WHERE payment_id = $1

-- name: Activate
UPDATE memberships SET status = 'ACTIVE', activated_at = now_ms(), expires_at = now_ms() + $2
WHERE membership_id = $1 AND status = 'PENDING'
RETURNING activated_at, expires_at

-- name: CancelMembership
UPDATE memberships SET status = 'CANCELLED' WHERE membership_id = $1 AND status = 'PENDING'

-- name: IsMember
SELECT EXISTS (SELECT 1 FROM memberships WHERE member_id = $1 AND status = 'ACTIVE' AND expires_at > now_ms())

-- name: MembershipsOf
SELECT m.membership_id, m.payment_id, m.amount, m.status, m.created_at, COALESCE(m.activated_at, 0), COALESCE(m.expires_at, 0),
       COALESCE(p.failure_reason, '')
FROM memberships m JOIN payments p ON p.payment_id = m.payment_id
WHERE m.member_id = $1 ORDER BY m.created_at DESC, m.membership_id DESC LIMIT $2
