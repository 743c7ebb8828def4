-- Made by go run ./scripts/glue of moment, plan, day, share, return_window in parts. Edit those.
-- Begins every script: when it decides, and on whose clock. It reads no key.
-- clock is the server's time, in µs since 1970. The replication id of the server
-- is new at each start of a master and each promotion; see doc.go.
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local info = call('INFO', 'replication')

-- follows says whether state of a server, last changed then, can be gone on with.
local function follows(id, last)
  return last <= clock + 1000000 and string.find(info, 'master_replid:' .. id, 1, true)
end

-- this_server is the id that new state carries.
local function this_server()
  return string.match(info, 'master_replid:(%x+)')
end
-- Follows moment.lua in every script: its arguments.
-- ARGV[1] packed doubles, all of them whole and below 2^53, times in µs:
--   rate, low_rate, per second, or per window in the strict mode
--   burst, low_burst; window, of the strict mode
--   span: how long to yield, or how late a permit can come back
--   low_share: percent of low_rate that low has at least; hold: how long high leaves
--   it alone after the time at which low was told to try again
--   limit of a day, 0 for none; its high reserve; its offset
--   seen_day, seen_used: the day that the caller has seen, and its count
--   and from the place rest on the script's own arguments
local rate, low_rate, burst, low_burst, window, span, low_share, hold, limit, reserve, offset,
  seen_day, seen_used, rest = unpack('<ddddddddddddd', ARGV[1])

-- kept is the time that unused state stays, ms. A day must be over by then;
-- buckets would be empty after it, and a window block. It is set again with the first
-- write of an hour; with each, it would cost more than the write.
local kept, hour = 172800000, 3600000000
-- Follows plan.lua in every script: the count of the day. The day's key holds
-- number and count of the day, packed doubles. Without a limit it is not used.
local day_of, tally
if limit > 0 then
  function day_of(at)
    return math.floor((at - offset) / 86400000000)
  end

  -- tally continues the higher of the stored count and the caller's. A count of
  -- tomorrow is that of a clock that has been set back over midnight, and is continued.
  -- A day that is further away is a mistake that must not last: its stored count counts
  -- for today, a caller's count of it does not.
  function tally(now, stored)
    local today = day_of(now)
    local day, used = today, 0
    if stored and #stored == 16 then
      local d, u = unpack('<dd', stored)
      if d >= today then
        used = u
        if d == today + 1 then day = d end
      end
    end
    if seen_day == day then
      used = math.max(used, seen_used)
    elseif seen_day == today + 1 then
      day, used = seen_day, seen_used
    end
    return day, used
  end
end
-- Follows day.lua in every script: the least share of low priority, a bucket that all
-- calls of low priority empty. A call is as many units as make its refill whole:
-- low_share hundredths of low_rate, per second, or per window of the strict mode.
local share_rate = low_rate * low_share
local share, waits = 0, 0 -- what is in it; high leaves it alone before this time

-- share_after is the share after so many µs without a call.
local function share_after(units, elapsed, full)
  if share_rate == 0 then return 0 end
  -- Beyond this the product could leave the 53 bits.
  if elapsed < math.ceil(full / share_rate) then
    return math.min(full, units + math.max(0, elapsed) * share_rate)
  end
  return full
end
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
