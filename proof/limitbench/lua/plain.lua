-- Decides one call against two token buckets, as scripts usually do.
-- KEYS[1] global  KEYS[2] low cap: hashes of tokens and the time they are of
-- ARGV[1] rate  ARGV[2] low rate, per second  ARGV[3] burst  ARGV[4] low burst
-- returns 1 when it is allowed, 0 when not
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function held(key, rate, burst)
  local state = redis.call('HMGET', key, 'tokens', 'time')
  if not state[1] then return tonumber(burst) end
  return math.min(burst, state[1] + math.max(0, now - state[2]) * rate / 1000000)
end

local global, low = held(KEYS[1], ARGV[1], ARGV[3]), held(KEYS[2], ARGV[2], ARGV[4])
if global < 1 or low < 1 then return 0 end
redis.call('HSET', KEYS[1], 'tokens', global - 1, 'time', now)
redis.call('HSET', KEYS[2], 'tokens', low - 1, 'time', now)
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('PEXPIRE', KEYS[2], 60000)
return 1
