-- name: Shows
-- One row for each show and state of seats. The inner query reads an index only.
SELECT s.show_id, s.title, s.comment_count, s.like_count, s.view_count, s.sales_count,
       s.max_held, s.max_bought, c.status, c.n
FROM shows s JOIN (SELECT show_id, status, COUNT(*) AS n FROM seats GROUP BY show_id, status) c ON c.show_id = s.show_id
ORDER BY s.position

-- name: Seats
SELECT seat_id, status, price FROM seats WHERE show_id = $1 ORDER BY position

-- name: Hold
-- The list is made as long as the seats that are asked for. A seat without a reservation is
-- available: with a condition on the status, or ten parameters, PostgreSQL would rather read
-- all available seats of the show.
UPDATE seats SET status = 'HOLD', reservation_id = $1, hold_expires_at = $2
WHERE show_id = $3 AND reservation_id IS NULL
  AND seat_id IN ($4)

-- name: Asked
SELECT seat_id, COALESCE(reservation_id, '') FROM seats
WHERE show_id = $1 AND seat_id IN ($2)
ORDER BY position

-- name: Keep
INSERT INTO reservation_seats (reservation_id, show_id, seat_id, position, price)
SELECT reservation_id, show_id, seat_id, position, price FROM seats WHERE reservation_id = $1

-- name: Price
SELECT COALESCE(SUM(price), 0) FROM seats WHERE reservation_id = $1

-- name: Sell
UPDATE seats SET status = 'SOLD', hold_expires_at = NULL
WHERE reservation_id = $1 AND status = 'HOLD'
  AND EXISTS (SELECT 1 FROM reservations r WHERE r.reservation_id = $1 AND r.status <> 'CANCELLED')

-- name: Release
UPDATE seats SET status = 'AVAILABLE', reservation_id = NULL, hold_expires_at = NULL
WHERE reservation_id = $1

-- name: Facts
SELECT show_id, COALESCE(venue, ''), COALESCE(city, ''), COALESCE(time_zone, ''), currency, COALESCE(doors_at, 0), COALESCE(starts_at, 0) FROM shows

-- name: Classes
SELECT show_id, class, price FROM seat_classes ORDER BY show_id, price DESC

-- name: Performers
SELECT p.show_id, p.artist_id, COALESCE(a.name, '') FROM show_performers p LEFT JOIN artists a ON a.artist_id = p.artist_id
ORDER BY p.show_id, p.position

-- name: Title
SELECT title FROM shows WHERE show_id = $1

-- name: SoldOf
SELECT show_id, seat_id FROM seats WHERE reservation_id = $1 AND status = 'SOLD' ORDER BY position

-- name: AnyAvailable
SELECT EXISTS (SELECT 1 FROM seats WHERE show_id = $1 AND status = 'AVAILABLE')

-- name: LockShow
SELECT show_id FROM shows WHERE show_id = $1 FOR UPDATE

-- name: AnyUnsold
SELECT EXISTS (SELECT 1 FROM seats WHERE show_id = $1 AND status <> 'SOLD')
