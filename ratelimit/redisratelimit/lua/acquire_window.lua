-- Decides runs of calls against two sliding windows and the count of a day.
-- KEYS[1] window: replication id of the server, time, yield, and a ring
-- KEYS[2] low_window: a ring  KEYS[3] day: day, used
-- A ring is: size, born, tail, count, and the times of the last grants; that of
-- the i-th is at i modulo size, those from tail to count are in the window.
-- ARGV[1] rate  ARGV[2] low rate, per window  ARGV[3], ARGV[4] the same
-- ARGV[5] window, µs; the others, and what is returned, as in acquire.lua
-- Times are µs since 1970. Values are packed doubles, all of them whole and below
-- 2^53.
-- Stands after moment.lua and day.lua.
local floor, min, max = math.floor, math.min, math.max
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local now = clock
local window, limit = tonumber(ARGV[5]), tonumber(ARGV[7])
local id, yield = nil, 0

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
  id = string.sub(state, 1, 40)
  last, yield = unpack('<dd', state, 41)
  if follows(id, last) then
    if last > now then now = last end
    global = ring(KEYS[1], 56, state, tonumber(ARGV[1]))
  end
end
if global and not global.new then
  state = call('GETRANGE', KEYS[2], 0, 31)
  low = ring(KEYS[2], 0, #state == 32 and state, tonumber(ARGV[2]))
else
  -- Missing, of another server, from the future, or too small: as if all had been
  -- granted just now.
  id, now, yield = this_server(), clock, 0
  global = ring(KEYS[1], 56, nil, tonumber(ARGV[1]))
  low = ring(KEYS[2], 0, nil, tonumber(ARGV[2]))
end
expire(global)
expire(low)
local old_yield = yield

local day, used, reserve = 0, 0, 0
if limit > 0 then
  reserve = tonumber(ARGV[8])
  day, used = tally(now, call('GET', KEYS[3]))
end

local behind = now - clock
local out = {now, 0, 0, 0, 0}
local o = 5
local taken, low_taken = 0, 0
for i = 13, #ARGV, 3 do
  local kind, size, count = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local n = min(count, floor(free(global) / size))
  if kind == '0' then
    n = min(n, floor(free(low) / size))
    if yield > now then n = 0 end
  end
  local left
  if limit > 0 then
    left = limit - used
    if kind == '0' then left = left - reserve end
    n = max(0, min(n, floor(left / size)))
  end
  local reason, longest = 0, 0
  if n > 0 then
    global.count, used, taken = global.count + n * size, used + n * size, taken + n * size
    if kind == '0' then
      low.count, low_taken = low.count + n * size, low_taken + n * size
    end
    if left then left = left - n * size end
  end
  if n < count then
    -- The reason is the one that lasts longest.
    local day_over = left and left < size
    if day_over then
      reason, longest = 1, (day + 1) * 86400000000 + ARGV[9] - clock
    end
    local w = wait(global, size)
    if w > 0 then
      if w + behind > longest then reason, longest = 2, w + behind end
      if kind == '2' and not day_over then yield = now + ARGV[6] end
    end
    if kind == '0' then
      w = wait(low, size)
      if w > 0 and w + behind > longest then reason, longest = 3, w + behind end
      if yield > now and yield - now + behind > longest then
        reason, longest = 4, yield - now + behind
      end
    end
  elseif kind == '2' then
    yield = 0
  end
  out[o + 1], out[o + 2], out[o + 3] = n, reason, longest
  o = o + 3
end

-- keep writes the head, with what stands before it, and the new entries, which
-- may go round the end of the ring.
local function keep(r, before)
  local head = before .. pack('<dddd', r.size, r.born, r.tail, r.count)
  if r.new then
    call('SET', r.key, head)
  else
    call('SETRANGE', r.key, 0, head)
  end
  local n, from = r.count - r.stored, r.stored % r.size
  local first = min(n, r.size - from)
  local new = pack('<d', now)
  if first > 0 then call('SETRANGE', r.key, r.times + from * 8, string.rep(new, first)) end
  if n > first then call('SETRANGE', r.key, r.times, string.rep(new, n - first)) end
  call('PEXPIRE', r.key, ARGV[12])
end
if taken > 0 or yield ~= old_yield or global.new then
  keep(global, id .. pack('<dd', now, yield))
end
if low_taken > 0 or low.new then keep(low, '') end
if limit > 0 then
  if taken > 0 then
    call('SET', KEYS[3], pack('<dd', day, used), 'PX', ARGV[12])
  end
  out[4], out[5] = day, used
end
out[3] = free(global)
if yield <= now then out[2] = min(free(global), free(low)) end
if limit > 0 then
  out[2] = min(out[2], max(0, limit - used - reserve))
  out[3] = min(out[3], max(0, limit - used))
end
return out
