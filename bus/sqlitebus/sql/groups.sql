-- The groups that have a cursor on each lane. ?1 first lane, ?2 partitions.
SELECT consumer FROM bus_cursors
WHERE lane >= ?1 AND lane < ?1 + ?2
GROUP BY consumer HAVING count(*) = ?2
ORDER BY consumer
