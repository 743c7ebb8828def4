-- $1 reservation
INSERT INTO reservation_seats (reservation_id, show_id, seat_id, position, price)
SELECT reservation_id, show_id, seat_id, position, price FROM seats WHERE reservation_id = $1
