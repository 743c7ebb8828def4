-- The groups that have a cursor on each lane. ? first lane, ? the lane after the
-- last, ? partitions.
SELECT consumer FROM bus_cursors
WHERE lane >= ? AND lane < ?
GROUP BY consumer HAVING COUNT(*) = ?
ORDER BY consumer
