-- Decides runs of calls against two token buckets and the count of a day.
-- KEYS[1] global: replication id of the server, born, time, tokens, yield
-- KEYS[2] low_cap: time, tokens  KEYS[3] day: day, used
-- ARGV[1] rate  ARGV[2] low rate, per second  ARGV[3] burst  ARGV[4] low burst
-- ARGV[5] window of the strict mode, unused here  ARGV[6] yield, µs
-- ARGV[7] limit of a day, 0 for none  ARGV[8] its high reserve  ARGV[9] its offset, µs
-- ARGV[10] day that the caller has seen  ARGV[11] its count
-- ARGV[12] how long state is kept, ms
-- ARGV[13…] for each run: 0 low, 1 high, 2 high that waits; size; count
-- returns {at, remaining for low, for high, day, used,
--   and for each run: granted, reason (0 none, 1 day, 2 global, 3 low_cap, 4 yield), µs until retry}
-- Times are µs since 1970, tokens millionths. Values are packed doubles, all of
-- them whole and below 2^53.
-- Stands after moment.lua and day.lua.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local rate, low_rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local burst, low_burst = ARGV[3] * 1000000, ARGV[4] * 1000000
local limit = tonumber(ARGV[7])

-- What a bucket holds now. Beyond the time that fills it the product could leave
-- the 53 bits.
local function filled(tokens, elapsed, speed, most)
  if elapsed < 0 then elapsed = 0 end
  if elapsed >= ceil(most / speed) then return most end
  return min(most, tokens + elapsed * speed)
end

local stored
if limit > 0 then
  stored = call('MGET', KEYS[1], KEYS[2], KEYS[3])
else
  stored = call('MGET', KEYS[1], KEYS[2])
end
local now, global, low, yield = clock, 0, 0, 0
local id, born, keep_global, keep_low
local state = stored[1]
if state and #state == 72 then
  local last, tokens, yielding
  id = string.sub(state, 1, 40)
  born, last, tokens, yielding = unpack('<dddd', state, 41)
  if follows(id, last) then
    if last > now then now = last end
    global, yield = filled(tokens, now - last, rate, burst), yielding
  else
    id = nil
  end
end
if not id then
  -- Missing, of another server, or from the future: empty.
  id = this_server()
  born, keep_global, keep_low = now, true, true
elseif stored[2] and #stored[2] == 16 then
  local last, tokens = unpack('<dd', stored[2])
  low = filled(tokens, now - last, low_rate, low_burst)
else
  keep_low = true
end
local old_yield = yield

local day, used, reserve = 0, 0, 0
if limit > 0 then
  reserve = tonumber(ARGV[8])
  day, used = tally(now, stored[3])
end

local behind = now - clock
local out = {now, 0, 0, 0, 0}
local o = 5
local taken, low_taken = 0, 0
for i = 13, #ARGV, 3 do
  local kind, size, count = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local units = size * 1000000
  local n = min(count, floor(global / units))
  if kind == '0' then
    n = min(n, floor(low / units))
    if yield > now then n = 0 end
  end
  local left
  if limit > 0 then
    left = limit - used
    if kind == '0' then left = left - reserve end
    n = max(0, min(n, floor(left / size)))
  end
  local reason, wait = 0, 0
  if n > 0 then
    global, used, taken = global - n * units, used + n * size, taken + n * size
    if kind == '0' then
      low, low_taken = low - n * units, low_taken + n
    end
    if left then left = left - n * size end
  end
  if n < count then
    -- The reason is the one that lasts longest.
    local day_over = left and left < size
    if day_over then
      reason, wait = 1, (day + 1) * 86400000000 + ARGV[9] - clock
    end
    if global < units then
      local w = ceil((units - global) / rate) + behind
      if w > wait then reason, wait = 2, w end
      if kind == '2' and not day_over then yield = now + ARGV[6] end
    end
    if kind == '0' then
      if low < units then
        local w = ceil((units - low) / low_rate) + behind
        if w > wait then reason, wait = 3, w end
      end
      if yield - now + behind > wait and yield > now then
        reason, wait = 4, yield - now + behind
      end
    end
  elseif kind == '2' then
    yield = 0
  end
  out[o + 1], out[o + 2], out[o + 3] = n, reason, wait
  o = o + 3
end

if taken > 0 or yield ~= old_yield or keep_global then
  call('SET', KEYS[1], id .. pack('<dddd', born, now, global, yield), 'PX', ARGV[12])
end
if low_taken > 0 or keep_low then
  call('SET', KEYS[2], pack('<dd', now, low), 'PX', ARGV[12])
end
if limit > 0 then
  if taken > 0 then
    call('SET', KEYS[3], pack('<dd', day, used), 'PX', ARGV[12])
  end
  out[4], out[5] = day, used
end
out[3] = floor(global / 1000000)
if yield <= now then out[2] = floor(min(global, low) / 1000000) end
if limit > 0 then
  out[2] = min(out[2], max(0, limit - used - reserve))
  out[3] = min(out[3], max(0, limit - used))
end
return out
