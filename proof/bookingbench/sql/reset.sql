-- The hall as it is before the sale.
TRUNCATE reservation_seats, reservations CASCADE;
UPDATE seats SET status = 'AVAILABLE', reservation_id = NULL, hold_expires_at = NULL WHERE status <> 'AVAILABLE';
