-- ? holder, ? microseconds, ? counter, ? holder. Changes nothing while another
-- holder's lease lasts; state.sql tells.
UPDATE count_flushers SET holder = ?, token = token + 1, leased_until = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + ?
WHERE counter = ? AND (holder = ? OR leased_until <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
