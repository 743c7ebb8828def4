-- Follows room.lua: the bits of the line.
-- Orders are sparse: those of an epoch are dense, but a ticket of an earlier epoch
-- is millions of millions below. So a segment of 65,536 orders gets a slot when its
-- first order lines up, and in all bitmaps a slot has 65,536 bits. Slots only go up,
-- so a bit never tells of another segment. The hash slots has
--   segment    -> slot of the bitmaps waiting (from slot BASE on) and seen
--   m<minute>  -> the first slot in the bitmap of seen:<minute>
--   u<segment> -> slot of the bitmap used
--   lost       -> in ms, when a process last heard of the room before it lost its data
-- A bit of an order has the same offset in its slot everywhere, first bit highest.
local SEGMENT, BLOCK, MOST = 65536, 1024, (2 ^ 53 - 2 ^ 32)
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

-- set_bits sets (1) or clears (0) bits. 48 are the most that a number of Lua holds in whole
-- bytes. Redis 7.0 takes 0.2 µs to write a number of Lua as text, and format half of that: so
-- commands on many orders get texts.
local function set_bits(key, offset, left, bit)
  if left == 1 then
    call('SETBIT', key, offset, bit)
    return
  end
  local steps = {}
  while left > 0 do
    local n, at = min(left, 48), #steps
    steps[at + 1], steps[at + 2], steps[at + 3], steps[at + 4] = 'SET', 'u' .. n, format('%d', offset), format('%d', bit * (2 ^ n - 1))
    offset, left = offset + n, left - n
  end
  call('BITFIELD', key, spread(steps))
end

-- fill does so with the bits of the orders in a bitmap that begins with slot base.
local function fill(key, base, from, to, bit)
  while from <= to do
    local upto = min(to, (floor(from / SEGMENT) + 1) * SEGMENT - 1)
    set_bits(key, (slot_of(from, true) - base) * SEGMENT + from % SEGMENT, upto - from + 1, bit)
    from = upto + 1
  end
end

-- this_period opens the bitmap of the present time; KEYS[seen_at] is that of the period
-- first. The first visit of a period makes it, and it outlives the last look at it.
local seen, seen_base
local function this_period(first)
  if seen then return end
  local period = floor(now / span)
  local field = 'm' .. period * minutes
  seen = KEYS[seen_at + period - first]
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
    if delta then call('SETBIT', seen, format('%d', order + delta), '1') end
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

-- How many wait in each segment is counted when many are asked for their place.
local numbers, segments

-- mark notes that orders of a segment wait (1) or do not (0).
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
