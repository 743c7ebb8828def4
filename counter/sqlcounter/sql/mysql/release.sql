-- ? counter, ? token
UPDATE count_flushers SET leased_until = 0 WHERE counter = ? AND token = ?
