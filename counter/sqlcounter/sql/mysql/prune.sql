-- ? counter, ? age in microseconds, ? limit
DELETE FROM count_batches
WHERE counter = ? AND applied_at <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
ORDER BY applied_at LIMIT ?
