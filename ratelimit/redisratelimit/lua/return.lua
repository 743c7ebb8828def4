-- Gives a permit back to the buckets: its size less what was refilled since its
-- grant, or else what is used could exceed the bound. Nothing happens when it is
-- too late, or the state is not that of the grant.
-- KEYS as in acquire.lua  ARGV[1…12] as in acquire.lua; ARGV[6] is delay, µs
-- ARGV[13] 0 low, 1 high  ARGV[14] size  ARGV[15] at, as acquire.lua returned it
-- returns 1, or 0 when nothing happened
local min, max, floor = math.min, math.max, math.floor
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local stored = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local state = stored[1]
if not state or #state ~= 72 then return 0 end
local id = string.sub(state, 1, 40)
local born, last, tokens, yield = struct.unpack('<dddd', state, 41)
if last > clock + 1000000 or not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. id, 1, true) then
  return 0
end
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

local limit, offset = tonumber(ARGV[7]), tonumber(ARGV[9])
local today = floor((now - offset) / 86400000000)
if limit > 0 and floor((at - offset) / 86400000000) == today then
  local day, used = today, 0
  if stored[3] and #stored[3] == 16 then
    local d, u = struct.unpack('<dd', stored[3])
    if d >= today then
      used = u
      if d == today + 1 then day = d end
    end
  end
  local d, u = tonumber(ARGV[10]), tonumber(ARGV[11])
  if d == day then
    used = max(used, u)
  elseif d == today + 1 then
    day, used = d, u
  end
  redis.call('SET', KEYS[3], struct.pack('<dd', day, max(0, used - size)), 'PX', ARGV[12])
end
return 1
