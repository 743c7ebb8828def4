-- Admits users from the front of the line while there are places.
-- KEYS[1] queue  KEYS[2] seen  KEYS[3] active: as in check.lua
-- ARGV[1] now, ms  ARGV[2] threshold  ARGV[3] time inside, ms  ARGV[4] most at once
-- returns how many
local now = tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local free = math.min(ARGV[4], ARGV[2] - redis.call('ZCARD', KEYS[3]))
if free <= 0 then return 0 end
local first = redis.call('ZPOPMIN', KEYS[1], free)
for i = 1, #first, 2 do
  redis.call('ZREM', KEYS[2], first[i])
  redis.call('ZADD', KEYS[3], now + ARGV[3], first[i])
end
return #first / 2
