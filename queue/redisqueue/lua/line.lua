-- Follows room.lua: the line, and its bits.
-- Orders are sparse: those of an epoch are dense, but a ticket of an earlier epoch
-- is millions of millions below. So a segment of 65,536 orders gets a slot when its
-- first order lines up, and in all bitmaps a slot has 65,536 bits. Slots only go up,
-- so a bit never tells of another segment. The hash slots has
--   segment    -> slot of the bitmaps waiting (from slot BASE on) and seen
--   m<minute>  -> the first slot in the bitmap of seen:<minute>
--   u<segment> -> slot of the bitmap used
-- A bit of an order has the same offset in its slot everywhere, first bit highest.
local SEGMENT, BLOCK, MOST = 65536, 1024, 2 ^ 53 - 2 ^ 32
local cached = {}

-- slot_of returns the slot of an order, or false; it makes one when asked.
local function slot_of(order, make)
  local segment = floor(order / SEGMENT)
  local slot = cached[segment]
  if slot == nil then
    slot = tonumber(call('HGET', SLOTS, segment))
    if not slot or slot < room[BASE] then slot = false end
  end
  if not slot and make then
    slot = room[NEXT]
    add(NEXT, 1)
    call('HSET', SLOTS, segment, slot)
  end
  cached[segment] = slot
  return slot
end

-- fill sets (1) or clears (0) the bits of the orders in a bitmap that begins with
-- slot base. Bits of 48 are the most that a number of Lua holds in whole bytes.
local function fill(key, base, from, to, bit)
  while from <= to do
    local upto = min(to, (floor(from / SEGMENT) + 1) * SEGMENT - 1)
    local offset = (slot_of(from, true) - base) * SEGMENT + from % SEGMENT
    local left = upto - from + 1
    if left == 1 then
      call('SETBIT', key, offset, bit)
    else
      local steps = {}
      while left > 0 do
        local n, at = min(left, 48), #steps
        steps[at + 1], steps[at + 2], steps[at + 3], steps[at + 4] = 'SET', 'u' .. n, offset, bit * (2 ^ n - 1)
        offset, left = offset + n, left - n
      end
      call('BITFIELD', key, spread(steps))
    end
    from = upto + 1
  end
end

-- this_period opens the bitmap of the time that it is; KEYS[14] is that of the period
-- first. Who comes first in a period makes it, for longer than it is looked at.
local seen, seen_base
local function this_period(first)
  if seen then return end
  local period = floor(now / span)
  local field = 'm' .. period * minutes
  seen = KEYS[14 + period - first]
  seen_base = tonumber(call('HGET', SLOTS, field))
  if seen_base then return end
  seen_base = room[BASE]
  call('HSET', SLOTS, field, seen_base)
  call('UNLINK', seen)
  call('SETBIT', seen, 0, 0)
  call('PEXPIRE', seen, grace + 3 * span)
end

-- alive marks orders of a segment as heard of, which is nothing for one that waits
-- nowhere.
local function alive(from, to, first)
  this_period(first)
  local slot = slot_of(from)
  if slot and slot >= seen_base then fill(seen, seen_base, from, to, 1) end
end

-- all_alive does it for many orders.
local function all_alive(orders, n, first)
  this_period(first)
  local shift, segment, delta = 1 / SEGMENT, nil, nil
  for i = 1, n do
    local order = orders[i]
    local its = floor(order * shift)
    if its ~= segment then
      segment, delta = its, nil
      local slot = slot_of(order)
      if slot and slot >= seen_base then delta = (slot - seen_base - segment) * SEGMENT end
    end
    if delta then call('SETBIT', seen, order + delta, 1) end
  end
end

-- Blocks that have changed get a version each, so that a look can stop after any.
local stamped = {}
local function stamp(from, to)
  for block = floor(from / BLOCK), floor(to / BLOCK) do stamped[block] = true end
end

local function stamp_all()
  local pairs_, n = {}, 0
  for block in pairs(stamped) do
    add(VERSION, 1)
    pairs_[n + 1], pairs_[n + 2] = room[VERSION], block
    n = n + 2
    if n == 1000 then
      call('ZADD', VERSIONS, spread(pairs_))
      pairs_, n = {}, 0
    end
  end
  if n > 0 then call('ZADD', VERSIONS, spread(pairs_)) end
  stamped = {}
end

-- taken says whether an order was given out or taken.
local function taken(order)
  if order > room[HIGHEST] then return false end
  if order >= room[SOLID] then return true end
  local run = call('ZRANGEBYSCORE', RUNS, order, '+inf', 'LIMIT', 0, 1)
  if run[1] and tonumber(run[1]) <= order then return true end
  local slot = call('HGET', SLOTS, 'u' .. floor(order / SEGMENT))
  return slot and call('GETBIT', USED, slot * SEGMENT + order % SEGMENT) == 1
end

-- raise has the room go on above an order, which it did not give out itself.
local function raise(order)
  if order <= room[HIGHEST] then return end
  if room[SOLID] <= room[HIGHEST] then
    call('ZADD', RUNS, room[HIGHEST], room[SOLID])
    fresh = true
  end
  room[HIGHEST], room[SOLID], changed = order, order + 1, true
end

-- take takes an order from outside, if it is one that nobody has taken.
local function take(order)
  if order < 1 or order > MOST or taken(order) then return nil end
  local field = 'u' .. floor(order / SEGMENT)
  local slot = call('HGET', SLOTS, field)
  if not slot then
    slot = tonumber(call('HGET', SLOTS, 'used') or 0)
    call('HSET', SLOTS, field, slot, 'used', slot + 1)
    fresh = true
  end
  call('SETBIT', USED, slot * SEGMENT + order % SEGMENT, 1)
  raise(order)
  return order
end

-- How many wait in each segment is counted when many are asked for their place.
local numbers, segments

-- mark says that orders of a segment wait (1), or no longer do (0).
local function mark(from, to, bit)
  fill(WAITING, room[BASE], from, to, bit)
  stamp(from, to)
  if not numbers then return end
  local segment, n = floor(from / SEGMENT), to - from + 1
  if not numbers[segment] then
    numbers = nil
  elseif bit == 1 then
    numbers[segment] = numbers[segment] + n
  else
    numbers[segment] = numbers[segment] - n
  end
end

-- drop takes who waits out of the line.
local function drop(user, order)
  waiting = waiting - call('ZREM', QUEUE, user)
  mark(order, order, 0)
end

local function number_all()
  numbers, segments = {}, {}
  local all = call('HGETALL', SLOTS)
  for i = 1, #all, 2 do
    local segment, slot = tonumber(all[i]), tonumber(all[i + 1])
    if segment and slot >= room[BASE] then
      local from = (slot - room[BASE]) * SEGMENT / 8
      segments[#segments + 1] = segment
      numbers[segment] = call('BITCOUNT', WAITING, from, from + SEGMENT / 8 - 1)
    end
  end
  table.sort(segments)
end

-- rank returns how many are ahead. Counting bits is ten times as fast as a ZRANK in
-- a long line, once they are counted for each segment.
local asked = 0
local function rank(user, order)
  asked = asked + 1
  if asked <= 16 or room[NEXT] - room[BASE] > 64 then return call('ZRANK', QUEUE, user) end
  if not numbers then number_all() end
  local segment, before = floor(order / SEGMENT), 0
  for i = 1, #segments do
    if segments[i] >= segment then break end
    before = before + numbers[segments[i]]
  end
  local at = order % SEGMENT
  if at == 0 then return before end
  local from = (slot_of(order) - room[BASE]) * SEGMENT
  return before + call('BITCOUNT', WAITING, from, from + at - 1, 'BIT')
end

-- bits_of returns the bits of n blocks of a segment, 128 bytes each.
local function bits_of(block, n)
  local slot, bits = slot_of(block * BLOCK), ''
  if slot then
    local from = ((slot - room[BASE]) * SEGMENT + block * BLOCK % SEGMENT) / 8
    bits = call('GETRANGE', WAITING, from, from + n * 128 - 1)
  end
  return bits .. rep('\0', n * 128 - #bits)
end
