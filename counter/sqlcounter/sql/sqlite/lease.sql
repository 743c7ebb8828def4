-- ?1 holder, ?2 microseconds, ?3 counter, ?4 holder. Changes nothing while another
-- holder's lease lasts; state.sql tells.
UPDATE count_flushers SET holder = ?1, token = token + 1, leased_until = CAST(unixepoch('subsec') * 1000000 AS INTEGER) + ?2
WHERE counter = ?3 AND (holder = ?4 OR leased_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER))
