-- $1 to, $2 counter
UPDATE count_flushers SET processed_to = $1 WHERE counter = $2
