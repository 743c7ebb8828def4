-- The groups that have a cursor on each lane. ?1 first lane, ?2 the lane after
-- the last, ?3 partitions.
SELECT consumer FROM bus_cursors
WHERE lane >= ?1 AND lane < ?2
GROUP BY consumer HAVING count(*) = ?3
ORDER BY consumer
