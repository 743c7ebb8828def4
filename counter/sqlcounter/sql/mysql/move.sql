-- ? to, ? counter
UPDATE count_flushers SET processed_to = ? WHERE counter = ?
