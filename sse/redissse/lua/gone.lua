-- Says which connections of a member are not registered any more.
-- KEYS[1] streams ZSET, KEYS[2] tabs HASH, KEYS[3] evicted ZSET; see ghosts.lua
-- ARGV[1] how many connections, then connection and token of each
-- returns a number for each: 0 registered, 1 not, 2 not because its tab was evicted
--   or has another connection
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer, elsewhere = {}, nil
for i = 2, 2 * tonumber(ARGV[1]), 2 do
  local connection, token = ARGV[i], ARGV[i + 1]
  if call('ZSCORE', KEYS[1], connection) then
    answer[#answer + 1] = 0
  else
    if not elsewhere then
      elsewhere = {}
      for _, other in ipairs(call('HVALS', KEYS[2])) do elsewhere[other] = true end
    end
    local evicted = tonumber(call('ZSCORE', KEYS[3], token) or 0) > now
    answer[#answer + 1] = (evicted or elsewhere[token]) and 2 or 1
  end
end
return answer
