-- Decides runs of calls against two token buckets and the count of a day.
-- KEYS[1] global: replication id of the server, born, time, tokens, yield, share, waits
-- KEYS[2] low_cap: time, tokens  KEYS[3] day, only with a limit: day, used
-- ARGV[1] as in plan.lua, span is how long to yield, and then
--   for each run: 0 low, 1 high, 2 high that waits; size; count
-- returns packed doubles: at, remaining for low, for high, day, used,
--   and for each run: granted, reason (0 none, 1 day, 2 global, 3 low_cap, 4 yield,
--   5 low_share), µs until retry
-- Times are µs since 1970, tokens millionths, in the keys as in ARGV packed doubles.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local share_unit = 100000000
local share_full = 2 * share_unit
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
if state and (#state == 88 or #state == 72) then
  local last, tokens, yielding
  id, born, last, tokens, yielding = unpack('<c40dddd', state)
  if follows(id, last) then
    if last > now then now = last end
    -- The refill exceeds 53 bits only when it is far more than the bucket holds.
    global, yield = tokens + (now - last) * rate, yielding
    if global > most then global = most end
    -- Without it, it is of a version that knew no share.
    if #state == 88 then
      share, waits = unpack('<dd', state, 73)
      share = share_after(min(share, share_full), now - last, share_full)
    end
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
local old_yield, old_waits = yield, waits

local day, used = 0, 0
if limit > 0 then day, used = tally(now, stored[3]) end

local function global_wait(size)
  return max(0, ceil((size * 1000000 - global) / rate))
end

-- held is how many calls high has to leave, so many µs from now.
local function held(size, later)
  if waits <= now + later then return 0 end
  return max(0, min(floor(share_after(share, later, share_full) / share_unit), burst - size))
end

-- held_wait is when high could be granted, with the part that it has to leave by then.
local function held_wait(size)
  local wait, left = global_wait(size), 0
  local more = held(size, wait)
  while more > left do
    left = more
    wait = global_wait(size + left)
    more = held(size, wait)
  end
  return min(wait, max(global_wait(size), waits - now))
end

local behind = now - clock
local answers = {}
local taken, low_taken = 0, 0
while rest < #ARGV[1] do
  local kind, size, count
  kind, size, count, rest = unpack('<ddd', ARGV[1], rest)
  local units, is_low = size * 1000000, kind == 0
  local n, left, free = count, nil, global
  if not is_low and waits > now then free = max(0, global - held(size, 0) * 1000000) end
  if free < n * units then n = floor(free / units) end
  if is_low then
    if low < n * units then n = floor(low / units) end
    if yield > now then n = min(n, floor(floor(share / share_unit) / size)) end
  end
  if limit > 0 then
    left = limit - used
    if is_low then left = left - reserve end
    if left < n * size then n = max(0, floor(left / size)) end
  end
  local reason, wait = 0, 0
  if n > 0 then
    global, taken = global - n * units, taken + n * size
    if is_low then
      low, low_taken = low - n * units, low_taken + n
      share = max(0, share - n * size * share_unit)
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
    if is_low then
      if low < units then
        local w = ceil((units - low) / low_rate) + behind
        if w > wait then reason, wait = 3, w end
      end
      if yield > now then
        local w = yield - now
        local missing = size * share_unit - share
        if missing <= 0 then
          w = 0
        elseif share_rate > 0 and size * share_unit <= share_full then
          w = min(w, ceil(missing / share_rate))
        end
        if w > 0 and w + behind > wait then reason, wait = 4, w + behind end
      end
      if low >= units and not day_over and share_rate > 0 and size * share_unit <= share_full then
        waits = now + wait - behind + hold
      end
    elseif waits > now then
      local w = held_wait(size)
      if w > 0 and w + behind > wait then reason, wait = 5, w + behind end
    end
  elseif kind == 2 then
    yield = 0
  end
  answers[#answers + 1] = pack('<ddd', n, reason, wait)
end

if new_global or taken > 0 or yield ~= old_yield or waits ~= old_waits then
  local value = pack('<c40dddddd', id, born, now, global, yield, share, waits)
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

local free = floor(global / 1000000)
local remaining, low_remaining = max(0, free - held(1, 0)), min(free, floor(low / 1000000))
if yield > now then low_remaining = min(low_remaining, floor(share / share_unit)) end
if limit > 0 then
  low_remaining = min(low_remaining, max(0, limit - used - reserve))
  remaining = min(remaining, max(0, limit - used))
end
return pack('<ddddd', now, low_remaining, remaining, day, used) .. table.concat(answers)
