-- ? to, ? counter, ? from, ? token
UPDATE count_flushers SET processed_to = ? WHERE counter = ? AND processed_to = ? AND token = ?
