-- ?1 to, ?2 counter, ?3 from, ?4 token
UPDATE count_flushers SET processed_to = ?1 WHERE counter = ?2 AND processed_to = ?3 AND token = ?4
