-- Follows moment.lua in every script: its arguments.
-- ARGV[1] packed doubles, all of them whole and below 2^53, times in µs:
--   rate, low_rate, per second, or per window in the strict mode
--   burst, low_burst; window, of the strict mode
--   span: how long to yield, or how late a permit can come back
--   low_share: percent of low_rate that low has at least; hold: how long high leaves
--   it alone after the time at which low was told to try again
--   limit of a day, 0 for none; its high reserve; its offset
--   seen_day, seen_used: the day that the caller has seen, and its count
--   and from the place rest on the script's own arguments
local rate, low_rate, burst, low_burst, window, span, low_share, hold, limit, reserve, offset,
  seen_day, seen_used, rest = unpack('<ddddddddddddd', ARGV[1])

-- kept is the time that unused state stays, ms. A day must be over by then;
-- buckets would be empty after it, and a window block. It is set again with the first
-- write of an hour; with each, it would cost more than the write.
local kept, hour = 172800000, 3600000000
