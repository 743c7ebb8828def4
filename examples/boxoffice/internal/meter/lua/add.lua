-- Adds counts to their seconds.
--
-- KEYS  a hash for each second, with the fields high and low; all have one hash tag
-- ARGV  1      how long a second is kept, in ms
--       2i     calls of high priority to add to the i-th second
--       2i+1   calls of low priority
--
-- Returns the time: Unix seconds, and microseconds in the second.

local now = redis.call('TIME')
for i, key in ipairs(KEYS) do
  local high, low = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  if high > 0 then redis.call('HINCRBY', key, 'high', high) end
  if low > 0 then redis.call('HINCRBY', key, 'low', low) end
  if high + low > 0 then redis.call('PEXPIRE', key, ARGV[1]) end
end
return { tonumber(now[1]), tonumber(now[2]) }
