-- Where a cursor stands. $1 group, $2 lane.
SELECT window_from::text, coalesce(window_to::text, ''), window_end, window_floor, last_id
FROM bus_cursors_progress WHERE consumer = $1 AND lane = $2 ORDER BY n DESC LIMIT 1
