-- ?1 counter. Whoever applies waits here for who does so already; the write
-- takes the lock on every database before anything is read.
UPDATE count_flushers SET applied = applied + 1 WHERE counter = ?1
