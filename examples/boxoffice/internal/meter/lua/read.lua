-- Reads seconds.
--
-- KEYS  a hash for each second, with the fields high and low; all have one hash tag
--
-- Returns the time as Unix seconds and microseconds in the second, and then for
-- each key its calls of high and of low priority; 0 for a missing key.

local now = redis.call('TIME')
local answer = { tonumber(now[1]), tonumber(now[2]) }
for _, key in ipairs(KEYS) do
  local counts = redis.call('HMGET', key, 'high', 'low')
  answer[#answer + 1] = tonumber(counts[1] or 0)
  answer[#answer + 1] = tonumber(counts[2] or 0)
end
return answer
