-- $1 reservation, $2 show, $3 member, $4 amount, $5 when the hold ends (ms), $6 now (ms)
INSERT INTO reservations (reservation_id, show_id, member_id, status, amount, hold_expires_at, created_at)
VALUES ($1, $2, $3, 'PENDING', $4, $5, $6)
