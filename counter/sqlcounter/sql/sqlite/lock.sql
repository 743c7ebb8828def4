-- ?1 counter. A flusher waits here for one that is applying; the write
-- takes the lock on every database before anything is read.
UPDATE count_flushers SET applied = applied + 1 WHERE counter = ?1
