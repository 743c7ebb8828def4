-- Follows bits.lua: kept orders, users that come back to them, and lanes. The hash slots
-- has, besides that of bits.lua,
--   k<segment>  -> slot of the bitmap kept
--   kept-until  -> in ms, when no order is kept any more
local function keep(from, to)
  if keep_for <= 0 or early() then return end
  local field = 'k' .. floor(from / SEGMENT)
  local slot = call('HGET', SLOTS, field)
  if not slot then
    slot = tonumber(call('HGET', SLOTS, 'kept') or 0)
    call('HSET', SLOTS, field, slot, 'kept', slot + 1)
    fresh = true
  end
  set_bits(KEPT, slot * SEGMENT + from % SEGMENT, to - from + 1, 1)
  -- No ticket says a later time than three minutes from now.
  call('HSET', SLOTS, 'kept-until', now + keep_for + 180000)
end

-- spend says whether an order is kept, and ends it.
local function spend(order)
  local slot = call('HGET', SLOTS, 'k' .. floor(order / SEGMENT))
  if not slot then return false end
  local at = slot * SEGMENT + order % SEGMENT
  if call('GETBIT', KEPT, at) == 0 then return false end
  call('SETBIT', KEPT, at, 0)
  return true
end

-- use_lanes has the key lanes from now on, and with it the counts of returners.
local function use_lanes()
  if not credits then credits, fresh = {0, 0}, true end
  for i = 1, lane_count do credits[2 + i] = credits[2 + i] or 0 end
  credits_changed = true
end

-- join_lane puts a user of the line into a lane. An entry whose user does not wait by its
-- order any more is void, and is removed at the front.
local function join_lane(lane, user, order)
  local key = KEYS[LANE + lane]
  if call('EXISTS', key) == 0 then fresh = true end
  call('ZADD', key, order, user)
  use_lanes()
end
