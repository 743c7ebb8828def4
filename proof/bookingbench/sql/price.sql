-- $1 reservation; returns the price of its seats
SELECT COALESCE(SUM(price), 0) FROM seats WHERE reservation_id = $1
