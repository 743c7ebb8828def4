-- Decides runs of calls against two sliding windows and the count of a day.
-- KEYS[1] window: replication id of the server, time, yield, and a ring
-- KEYS[2] low_window: a ring  KEYS[3] day, only with a limit: day, used
-- A ring is: size, born, tail, count, and the times of the last grants; that of
-- the i-th is at i modulo size, those from tail to count are in the window.
-- ARGV[1], and what is returned, as in acquire.lua
-- Times are µs since 1970, in the keys as in ARGV packed doubles.
-- Stands after moment.lua, plan.lua and day.lua.
local floor, min, max = math.floor, math.min, math.max
local now, yield = clock, 0
local id, renew

-- ring reads a ring's head, which stands at a place of a key. One that is missing,
-- or too small for the plan, begins anew.
local function ring(key, place, head, most)
  local r = {key = key, times = place + 32, place = place, most = most, size = 0}
  if head then r.size, r.born, r.tail, r.count = unpack('<dddd', head, place + 1) end
  if r.size < most then
    r.size, r.born, r.tail, r.count, r.new = most, now, 0, 0, true
  end
  r.stored = r.count
  return r
end

local function entry(r, i)
  if i >= r.stored then return now end
  local at = r.times + (i % r.size) * 8
  return (unpack('<d', call('GETRANGE', r.key, at, at + 7)))
end

-- expire moves the tail over what has left the window: by doubling steps, as it
-- is mostly one or none, and then by halves.
local function expire(r)
  local old = now - window
  if r.tail == r.count or entry(r, r.tail) > old then return end
  local gone, step = r.tail, 1
  local to = min(gone + 1, r.count)
  while to < r.count and entry(r, to) <= old do
    gone, step = to, step * 2
    to = min(gone + step, r.count)
  end
  while to - gone > 1 do
    local middle = floor((gone + to) / 2)
    if entry(r, middle) <= old then gone = middle else to = middle end
  end
  r.tail = to
end

local function free(r)
  if now - r.born < window then return 0 end
  return max(0, r.most - (r.count - r.tail))
end

local function wait(r, size)
  local w = r.born + window - now
  local need = r.count - r.tail + size - r.most
  if need > 0 then w = max(w, entry(r, r.tail + need - 1) + window - now) end
  return max(0, w)
end

local state = call('GETRANGE', KEYS[1], 0, 87)
local global, low
if #state == 88 then
  local last
  id, last, yield = unpack('<c40dd', state)
  if follows(id, last) then
    if last > now then now = last end
    renew = now % hour < now - last
    global = ring(KEYS[1], 56, state, rate)
  end
end
if global and not global.new then
  state = call('GETRANGE', KEYS[2], 0, 31)
  low = ring(KEYS[2], 0, #state == 32 and state, low_rate)
else
  -- Missing, of another server, from the future, or too small: as if all had been
  -- granted just now.
  id, now, yield = this_server(), clock, 0
  global = ring(KEYS[1], 56, nil, rate)
  low = ring(KEYS[2], 0, nil, low_rate)
end
expire(global)
expire(low)
local old_yield = yield

local day, used = 0, 0
if limit > 0 then day, used = tally(now, call('GET', KEYS[3])) end

local behind = now - clock
local answers = {}
local taken, low_taken = 0, 0
while rest < #ARGV[1] do
  local kind, size, count
  kind, size, count, rest = unpack('<ddd', ARGV[1], rest)
  local n = min(count, floor(free(global) / size))
  if kind == 0 then
    n = min(n, floor(free(low) / size))
    if yield > now then n = 0 end
  end
  local left
  if limit > 0 then
    left = limit - used
    if kind == 0 then left = left - reserve end
    n = max(0, min(n, floor(left / size)))
  end
  local reason, longest = 0, 0
  if n > 0 then
    global.count, taken = global.count + n * size, taken + n * size
    if kind == 0 then
      low.count, low_taken = low.count + n * size, low_taken + n * size
    end
    if left then left, used = left - n * size, used + n * size end
  end
  if n < count then
    -- The reason is the one that lasts longest.
    local day_over = left and left < size
    if day_over then
      reason, longest = 1, (day + 1) * 86400000000 + offset - clock
    end
    local w = wait(global, size)
    if w > 0 then
      if w + behind > longest then reason, longest = 2, w + behind end
      if kind == 2 and not day_over then yield = now + span end
    end
    if kind == 0 then
      w = wait(low, size)
      if w > 0 and w + behind > longest then reason, longest = 3, w + behind end
      if yield > now and yield - now + behind > longest then
        reason, longest = 4, yield - now + behind
      end
    end
  elseif kind == 2 then
    yield = 0
  end
  answers[#answers + 1] = pack('<ddd', n, reason, longest)
end

-- keep writes the head, with what stands before it, and the new entries, which
-- may go round the end of the ring.
local function keep(r, before)
  local head = before .. pack('<dddd', r.size, r.born, r.tail, r.count)
  if r.new then
    call('SET', r.key, head, 'PX', kept)
  else
    call('SETRANGE', r.key, 0, head)
  end
  local n, from = r.count - r.stored, r.stored % r.size
  local first = min(n, r.size - from)
  local new = pack('<d', now)
  if first > 0 then call('SETRANGE', r.key, r.times + from * 8, string.rep(new, first)) end
  if n > first then call('SETRANGE', r.key, r.times, string.rep(new, n - first)) end
end
if taken > 0 or yield ~= old_yield or global.new then
  keep(global, pack('<c40dd', id, now, yield))
  -- Of both, as only this one knows of the hour.
  if renew then
    call('PEXPIRE', KEYS[1], kept)
    call('PEXPIRE', KEYS[2], kept)
  end
end
if low_taken > 0 or low.new then keep(low, '') end
if limit > 0 and taken > 0 then
  call('SET', KEYS[3], pack('<dd', day, used), 'PX', kept)
end

local remaining, low_remaining = free(global), 0
if yield <= now then low_remaining = min(remaining, free(low)) end
if limit > 0 then
  low_remaining = min(low_remaining, max(0, limit - used - reserve))
  remaining = min(remaining, max(0, limit - used))
end
return pack('<ddddd', now, low_remaining, remaining, day, used) .. table.concat(answers)
