-- Takes the entries of a permit out of the windows. Nothing happens when it is
-- too late, or they are not there.
-- KEYS as in acquire_window.lua  ARGV[1] as in return.lua, at as acquire_window.lua
-- returned it
-- returns 1, or 0 when nothing happened
local floor, min, max = math.floor, math.min, math.max
local state = call('GETRANGE', KEYS[1], 0, 103)
if #state ~= 104 then return 0 end
local id, last = unpack('<c40d', state, 17)
if not follows(id, last) then return 0 end
local now = max(clock, last)
local kind, size, at = unpack('<ddd', ARGV[1], rest)

local function ring(key, place, head)
  local r = {key = key, place = place, times = place + 32}
  r.size, r.born, r.tail, r.count = unpack('<dddd', head, place + 1)
  return r
end

local function entry(r, i)
  local from = r.times + (i % r.size) * 8
  return (unpack('<d', call('GETRANGE', r.key, from, from + 7)))
end

-- find sets the entry after the permit's last one, and says whether they are there.
local function find(r)
  local low, high = r.tail, r.count
  while low < high do
    local middle = floor((low + high) / 2)
    if entry(r, middle) > at then high = middle else low = middle + 1 end
  end
  r.after = low
  return low - size >= r.tail and entry(r, low - size) == at
end

-- remove moves the newer entries up, in pieces that do not go round the ring's end.
local function remove(r)
  local i = r.after
  while i < r.count do
    local from, to = i % r.size, (i - size) % r.size
    local n = min(r.count - i, r.size - from, r.size - to)
    local piece = call('GETRANGE', r.key, r.times + from * 8, r.times + (from + n) * 8 - 1)
    call('SETRANGE', r.key, r.times + to * 8, piece)
    i = i + n
  end
  r.count = r.count - size
  call('SETRANGE', r.key, r.place, pack('<dddd', r.size, r.born, r.tail, r.count))
end

local global = ring(KEYS[1], 72, state)
local age = now - at
if at <= global.born or age < 0 or age > span or not find(global) then return 0 end
local low
if kind == 0 then
  local head = call('GETRANGE', KEYS[2], 0, 31)
  if #head ~= 32 then return 0 end
  low = ring(KEYS[2], 0, head)
  if not find(low) then return 0 end
end
remove(global)
if low then remove(low) end

if limit > 0 and day_of(at) == day_of(now) then
  local day, used = tally(now, call('GET', KEYS[3]))
  call('SET', KEYS[3], pack('<dd', day, max(0, used - size)), 'PX', kept)
end
return 1
