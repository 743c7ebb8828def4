-- Decides runs of calls against two token buckets and the count of a day.
-- KEYS[1] global: replication id of the server, born, time, tokens, yield
-- KEYS[2] low_cap: time, tokens  KEYS[3] day, only with a limit: day, used
-- ARGV[1] as in plan.lua, span is how long to yield, and then
--   for each run: 0 low, 1 high, 2 high that waits; size; count
-- returns packed doubles: at, remaining for low, for high, day, used,
--   and for each run: granted, reason (0 none, 1 day, 2 global, 3 low_cap, 4 yield), µs until retry
-- Times are µs since 1970, tokens millionths, in the keys as in ARGV packed doubles.
-- Stands after moment.lua, plan.lua and day.lua.
local floor, ceil = math.floor, math.ceil
local most, low_most = burst * 1000000, low_burst * 1000000

local stored
if limit > 0 then
  stored = call('MGET', KEYS[1], KEYS[2], KEYS[3])
else
  stored = call('MGET', KEYS[1], KEYS[2])
end
local now, global, low, yield = clock, 0, 0, 0
local id, born, new_global, new_low, renew_global, renew_low
local state = stored[1]
if state and #state == 72 then
  local last, tokens, yielding
  id, born, last, tokens, yielding = unpack('<c40dddd', state)
  if follows(id, last) then
    if last > now then now = last end
    -- What was refilled leaves the 53 bits only when it is far more than fits.
    global, yield = tokens + (now - last) * rate, yielding
    if global > most then global = most end
    renew_global = now % hour < now - last
  else
    id = nil
  end
end
if not id then
  -- Missing, of another server, or from the future: empty.
  id = this_server()
  born, new_global, new_low = now, true, true
elseif stored[2] and #stored[2] == 16 then
  local last, tokens = unpack('<dd', stored[2])
  low = tokens
  if last < now then low = tokens + (now - last) * low_rate end
  if low > low_most then low = low_most end
  renew_low = now % hour < now - last
else
  new_low = true
end
local old_yield = yield

local day, used = 0, 0
if limit > 0 then day, used = tally(now, stored[3]) end

local behind = now - clock
local answers = {}
local taken, low_taken = 0, 0
while rest < #ARGV[1] do
  local kind, size, count
  kind, size, count, rest = unpack('<ddd', ARGV[1], rest)
  local units = size * 1000000
  local n, left = count, nil
  if global < n * units then n = floor(global / units) end
  if kind == 0 then
    if low < n * units then n = floor(low / units) end
    if yield > now then n = 0 end
  end
  if limit > 0 then
    left = limit - used
    if kind == 0 then left = left - reserve end
    if left < n * size then n = math.max(0, floor(left / size)) end
  end
  local reason, wait = 0, 0
  if n > 0 then
    global, taken = global - n * units, taken + n * size
    if kind == 0 then
      low, low_taken = low - n * units, low_taken + n
    end
    if left then left, used = left - n * size, used + n * size end
  end
  if n < count then
    -- The reason is the one that lasts longest.
    local day_over = left and left < size
    if day_over then
      reason, wait = 1, (day + 1) * 86400000000 + offset - clock
    end
    if global < units then
      local w = ceil((units - global) / rate) + behind
      if w > wait then reason, wait = 2, w end
      if kind == 2 and not day_over then yield = now + span end
    end
    if kind == 0 then
      if low < units then
        local w = ceil((units - low) / low_rate) + behind
        if w > wait then reason, wait = 3, w end
      end
      if yield - now + behind > wait and yield > now then
        reason, wait = 4, yield - now + behind
      end
    end
  elseif kind == 2 then
    yield = 0
  end
  answers[#answers + 1] = pack('<ddd', n, reason, wait)
end

if new_global or taken > 0 or yield ~= old_yield then
  local value = pack('<c40dddd', id, born, now, global, yield)
  if new_global or renew_global then
    call('SET', KEYS[1], value, 'PX', kept)
  else
    call('SET', KEYS[1], value, 'KEEPTTL')
  end
end
if new_low or low_taken > 0 then
  local value = pack('<dd', now, low)
  if new_low or renew_low then
    call('SET', KEYS[2], value, 'PX', kept)
  else
    call('SET', KEYS[2], value, 'KEEPTTL')
  end
end
if limit > 0 and taken > 0 then
  call('SET', KEYS[3], pack('<dd', day, used), 'PX', kept)
end

local remaining, low_remaining = floor(global / 1000000), 0
if yield <= now then
  low_remaining = remaining
  if low < global then low_remaining = floor(low / 1000000) end
end
if limit > 0 then
  low_remaining = math.min(low_remaining, math.max(0, limit - used - reserve))
  remaining = math.min(remaining, math.max(0, limit - used))
end
return pack('<ddddd', now, low_remaining, remaining, day, used) .. table.concat(answers)
