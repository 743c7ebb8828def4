-- Decides runs of calls against two sliding windows and the count of a day.
-- KEYS[1] window: share, waits, replication id of the server, time, yield, and a ring
-- KEYS[2] low_window: a ring  KEYS[3] day, only with a limit: day, used
-- A ring is: size, born, tail, count, and the times of the last grants; that of
-- the i-th is at i modulo size, those from tail to count are in the window.
-- ARGV[1], and the answer, as in acquire.lua
-- Times are µs since 1970, in the keys as in ARGV packed doubles.
local floor, min, max = math.floor, math.min, math.max
local now, yield = clock, 0
local id, renew
-- A window can become free at once, and has all of the share then.
local share_unit = 100 * window
local share_full = (floor(share_rate / 100) + 1) * share_unit

-- ring reads a ring's head, which stands at a place of a key. One that is missing,
-- or too small for the plan, begins again.
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

-- expire moves the tail over grants that have left the window: by doubling steps, as it
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

local state = call('GETRANGE', KEYS[1], 0, 103)
local global, low
if #state == 104 then
  local last
  share, waits, id, last, yield = unpack('<ddc40dd', state)
  if follows(id, last) then
    if last > now then now = last end
    share = share_after(min(share, share_full), now - last, share_full)
    renew = now % hour < now - last
    global = ring(KEYS[1], 72, state, rate)
  end
end
if global and not global.new then
  state = call('GETRANGE', KEYS[2], 0, 31)
  low = ring(KEYS[2], 0, #state == 32 and state, low_rate)
else
  -- Missing, of another server, from the future, or too small: as if all had been
  -- granted just now.
  id, now, yield, share, waits = this_server(), clock, 0, 0, 0
  global = ring(KEYS[1], 72, nil, rate)
  low = ring(KEYS[2], 0, nil, low_rate)
end
expire(global)
expire(low)
local old_yield, old_waits = yield, waits

-- held is how many calls high has to leave, so many µs from now.
local function held(size, later)
  if waits <= now + later then return 0 end
  return max(0, min(floor(share_after(share, later, share_full) / share_unit), burst - size))
end

-- held_wait is when high could be granted, with the part that it has to leave by then.
local function held_wait(size)
  local longest, left = wait(global, size), 0
  local more = held(size, longest)
  while more > left do
    left = more
    longest = wait(global, size + left)
    more = held(size, longest)
  end
  return min(longest, max(wait(global, size), waits - now))
end

local day, used = 0, 0
if limit > 0 then day, used = tally(now, call('GET', KEYS[3])) end

local behind = now - clock
local answers = {}
local taken, low_taken = 0, 0
while rest < #ARGV[1] do
  local kind, size, count
  kind, size, count, rest = unpack('<ddd', ARGV[1], rest)
  local is_low = kind == 0
  local places = free(global)
  if not is_low then places = max(0, places - held(size, 0)) end
  local n = min(count, floor(places / size))
  if is_low then
    n = min(n, floor(free(low) / size))
    if yield > now then n = min(n, floor(floor(share / share_unit) / size)) end
  end
  local left
  if limit > 0 then
    left = limit - used
    if is_low then left = left - reserve end
    n = max(0, min(n, floor(left / size)))
  end
  local reason, longest = 0, 0
  if n > 0 then
    global.count, taken = global.count + n * size, taken + n * size
    if is_low then
      low.count, low_taken = low.count + n * size, low_taken + n * size
      share = max(0, share - n * size * share_unit)
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
    if is_low then
      local capped = wait(low, size)
      if capped > 0 and capped + behind > longest then reason, longest = 3, capped + behind end
      if yield > now then
        w = yield - now
        local missing = size * share_unit - share
        if missing <= 0 then
          w = 0
        elseif share_rate > 0 and size * share_unit <= share_full then
          w = min(w, math.ceil(missing / share_rate))
        end
        if w > 0 and w + behind > longest then reason, longest = 4, w + behind end
      end
      if capped == 0 and not day_over and share_rate > 0 and size * share_unit <= share_full then
        waits = now + longest - behind + hold
      end
    elseif waits > now then
      w = held_wait(size)
      if w > 0 and w + behind > longest then reason, longest = 5, w + behind end
    end
  elseif kind == 2 then
    yield = 0
  end
  answers[#answers + 1] = pack('<ddd', n, reason, longest)
end

-- keep writes the head, with the fields before it, and the new entries, which may go
-- round the end of the ring.
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
if taken > 0 or yield ~= old_yield or waits ~= old_waits or global.new then
  keep(global, pack('<ddc40dd', share, waits, id, now, yield))
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

local places = free(global)
local remaining, low_remaining = max(0, places - held(1, 0)), min(places, free(low))
if yield > now then low_remaining = min(low_remaining, floor(share / share_unit)) end
if limit > 0 then
  low_remaining = min(low_remaining, max(0, limit - used - reserve))
  remaining = min(remaining, max(0, limit - used))
end
return pack('<ddddd', now, low_remaining, remaining, day, used) .. table.concat(answers)
