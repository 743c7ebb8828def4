-- $1 reservation, $2 when the hold ends (ms), $3 show, $4 seat
UPDATE seats SET status = 'HOLD', reservation_id = $1, hold_expires_at = $2
WHERE show_id = $3 AND reservation_id IS NULL AND seat_id IN ($4)
