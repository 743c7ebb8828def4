-- $1 counter, $2 token
UPDATE count_flushers SET leased_until = 0 WHERE counter = $1 AND token = $2
