-- Gives a permit back to the buckets: its size less the refill since its grant, or else
-- usage could exceed the bound. Nothing happens when it is too late, or the state is not
-- that of the grant.
-- KEYS as in acquire.lua
-- ARGV[1] as in plan.lua, span is the delay, and then
--   0 low, 1 high; size; at, as acquire.lua returned it
-- returns 1, or 0 when nothing happened
local min, max = math.min, math.max
local stored
if limit > 0 then
  stored = call('MGET', KEYS[1], KEYS[2], KEYS[3])
else
  stored = call('MGET', KEYS[1], KEYS[2])
end
local state = stored[1]
if not state or #state ~= 88 and #state ~= 72 then return 0 end
local id, born, last, tokens, yield = unpack('<c40dddd', state)
if not follows(id, last) then return 0 end
local now = max(clock, last)
local kind, size, at = unpack('<ddd', ARGV[1], rest)
local age = now - at
if at <= born or age < 0 or age > span then return 0 end

local function filled(tokens, elapsed, speed, burst)
  local most = burst * 1000000
  tokens = min(most, tokens + max(0, elapsed) * speed)
  return min(most, tokens + max(0, size * 1000000 - age * speed))
end

-- keep writes a value whose last change was at last.
local function keep(key, value, last)
  if now % hour < now - last then
    call('SET', key, value, 'PX', kept)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end

tokens = filled(tokens, now - last, rate, burst)
if #state == 88 then
  local full = 2 * 100000000
  share, waits = unpack('<dd', state, 73)
  share = share_after(min(share, full), now - last, full)
end
keep(KEYS[1], pack('<c40dddddd', id, born, now, tokens, yield, share, waits), last)
if kind == 0 and stored[2] and #stored[2] == 16 then
  local low_last, low = unpack('<dd', stored[2])
  low = filled(low, now - low_last, low_rate, low_burst)
  keep(KEYS[2], pack('<dd', now, low), low_last)
end

if limit > 0 and day_of(at) == day_of(now) then
  local day, used = tally(now, stored[3])
  call('SET', KEYS[3], pack('<dd', day, max(0, used - size)), 'PX', kept)
end
return 1
