-- Gives a permit back to the buckets: its size less what was refilled since its
-- grant, or else what is used could exceed the bound. Nothing happens when it is
-- too late, or the state is not that of the grant.
-- KEYS as in acquire.lua  ARGV[1…12] as in acquire.lua; ARGV[6] is delay, µs
-- ARGV[13] 0 low, 1 high  ARGV[14] size  ARGV[15] at, as acquire.lua returned it
-- returns 1, or 0 when nothing happened
-- Stands after moment.lua and day.lua.
local min, max = math.min, math.max
local stored = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local state = stored[1]
if not state or #state ~= 72 then return 0 end
local id = string.sub(state, 1, 40)
local born, last, tokens, yield = struct.unpack('<dddd', state, 41)
if not follows(id, last) then return 0 end
local now = max(clock, last)
local size, at = tonumber(ARGV[14]), tonumber(ARGV[15])
local age = now - at
if at <= born or age < 0 or age > tonumber(ARGV[6]) then return 0 end

local function filled(tokens, elapsed, speed, burst)
  local most = burst * 1000000
  if elapsed < 0 then elapsed = 0 end
  if elapsed >= math.ceil(most / speed) then return most end
  tokens = min(most, tokens + elapsed * speed)
  return min(most, tokens + max(0, size * 1000000 - age * speed))
end

tokens = filled(tokens, now - last, tonumber(ARGV[1]), tonumber(ARGV[3]))
redis.call('SET', KEYS[1], id .. struct.pack('<dddd', born, now, tokens, yield), 'PX', ARGV[12])
if ARGV[13] == '0' and stored[2] and #stored[2] == 16 then
  local low_time, low = struct.unpack('<dd', stored[2])
  low = filled(low, now - low_time, tonumber(ARGV[2]), tonumber(ARGV[4]))
  redis.call('SET', KEYS[2], struct.pack('<dd', now, low), 'PX', ARGV[12])
end

if tonumber(ARGV[7]) > 0 and day_of(at) == day_of(now) then
  local day, used = tally(now, stored[3])
  redis.call('SET', KEYS[3], struct.pack('<dd', day, max(0, used - size)), 'PX', ARGV[12])
end
return 1
