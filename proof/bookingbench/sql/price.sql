-- $1 reservation; returns what its seats cost
SELECT COALESCE(SUM(price), 0) FROM seats WHERE reservation_id = $1
