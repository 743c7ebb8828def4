-- ?1 counter, ?2 a JSON array of keys
SELECT counter_key, total FROM count_totals
WHERE counter = ?1 AND counter_key IN (SELECT value FROM json_each(?2))
