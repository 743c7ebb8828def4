-- A step of the draw of a room that opens at a time; see queue/driver.Drawer.
-- KEYS as in room.lua, KEYS[seen_at] and the next as in arrive.lua, and then
--   draw   HASH   limit: the highest order that takes part; holder, until in ms; root, seed,
--                 beacon
--   leaves STRING 32 bytes each, in order
-- ARGV[1] as in room.lua, then packed doubles: number of the period of KEYS[seen_at]; the kind
--   (0 look, 1 freeze, 2 list, 3 leaves, 4 root, 5 seed, 6 move, 7 open); the holder; from
--   which order or leaf on; how many at most
-- ARGV[2] leaves to add, the root, the seed of 32 bytes and the beacon, or for each user
--   to move packed: length, 2 bytes; user; order, a double, 0 for the end
-- returns the clock in µs alone, a double, when another period is on, else
--   packed doubles as in state() of room.lua, then held (1 or 0), limit, number of
--   leaves, and the lengths of root, seed, beacon and leaves that follow; these; and for
--   each listed order, a double, length of the user, 2 bytes, user
-- Cost: bounded by how many at most; 200 moves about 1 ms.
local DRAW, LEAVES = KEYS[seen_at + 2], KEYS[seen_at + 3]
local HOLD, KEPT = 3000, 604800000
local LOOK, FREEZE, LIST, ADD, ROOTED, SEEDED, MOVE, OPEN = 0, 1, 2, 3, 4, 5, 6, 7
local first, kind, holder, from, most = unpack('<ddddd', ARGV[1], rest)
local given = ARGV[2]
local this = floor(now / span)
if this < first or this > first + 1 then return pack('<d', clock) end
open()
moved()
local d = call('HMGET', DRAW, 'limit', 'holder', 'until')
local limit, held_until = tonumber(d[1]) or 0, tonumber(d[3]) or 0
local held = 0
if kind ~= LOOK and opens > 0 and phase < OPENED and now >= opens - FREEZES then
  if tonumber(d[2]) == holder or now >= held_until or held_until > now + HOLD then held = 1 end
end

local function enter(next)
  phase = next
  write_settings()
end

-- move gives users that still have an order up to the limit their new ones.
local function move()
  local users, orders, n, at = {}, {}, 0, 1
  while at <= #given do
    n = n + 1
    users[n], orders[n], at = unpack('<Hc0d', given, at)
  end
  if n == 0 then return end
  local old, into, run, to = call('ZMSCORE', QUEUE, spread(users)), {}, nil, nil
  local lanes = {}
  for k = 1, credits and lane_count or 0 do lanes[k] = {was = call('ZMSCORE', KEYS[LANE + k], spread(users)), into = {}} end
  local function flush()
    if run then
      mark(run, to, 1)
      alive(run, to, first)
    end
  end
  for i = 1, n do
    local was, order = tonumber(old[i]), orders[i]
    if was and was <= limit then
      if order == 0 then
        order = room[HIGHEST] + 1
        add(HIGHEST, 1)
      end
      into[#into + 1], into[#into + 2] = order, users[i]
      for _, lane in ipairs(lanes) do
        local at = #lane.into
        if lane.was[i] == old[i] then lane.into[at + 1], lane.into[at + 2] = order, users[i] end
      end
      mark(was, was, 0)
      if to and to + 1 == order and order % SEGMENT > 0 then
        to = order
      else
        flush()
        run, to = order, order
      end
    end
  end
  flush()
  if #into == 0 then return end
  call('ZADD', QUEUE, spread(into))
  for k, lane in ipairs(lanes) do
    if #lane.into > 0 then call('ZADD', KEYS[LANE + k], spread(lane.into)) end
  end
end

local listed = {}
if held == 1 then
  call('HSET', DRAW, 'holder', format('%.0f', holder), 'until', now + HOLD)
  call('PEXPIRE', DRAW, KEPT)
  if kind == FREEZE and phase == 0 then
    -- The orders of the participants are given out now, so that all later users are
    -- behind them: also users that come back by a ticket before they are listed.
    limit = room[HIGHEST]
    call('HSET', DRAW, 'limit', format('%.0f', limit))
    call('UNLINK', LEAVES)
    call('HDEL', DRAW, 'root', 'seed', 'beacon') -- of a room that lapsed before its draw
    add(HIGHEST, waiting + LEAP)
    enter(1)
  elseif kind == LIST then
    local found = call('ZRANGEBYSCORE', QUEUE, '(' .. format('%.0f', from), format('%.0f', limit), 'WITHSCORES', 'LIMIT', 0, most)
    for i = 1, #found, 2 do
      listed[#listed + 1] = pack('<dHc0', tonumber(found[i + 1]), #found[i], found[i])
    end
  elseif kind == ADD and phase == 1 then
    if from == 0 then call('UNLINK', LEAVES) end
    if call('STRLEN', LEAVES) == from * 32 then
      call('APPEND', LEAVES, given)
      call('PEXPIRE', LEAVES, KEPT)
    else
      held = 0
    end
  elseif kind == ROOTED and phase == 1 and call('STRLEN', LEAVES) == most * 32 then
    call('HSET', DRAW, 'root', given)
    enter(2)
  elseif kind == SEEDED and phase == 2 then
    call('HSET', DRAW, 'seed', string.sub(given, 1, 32), 'beacon', string.sub(given, 33))
    enter(3)
  elseif kind == MOVE and phase == 3 then
    move()
  elseif kind == OPEN and phase == 3 and call('ZCOUNT', QUEUE, '-inf', format('%.0f', limit)) == 0 then
    enter(OPENED)
  end
end
stamp_all()
local told = call('HMGET', DRAW, 'root', 'seed', 'beacon')
local root, seed, beacon = told[1] or '', told[2] or '', told[3] or ''
local leaves = ''
if kind == LOOK and most > 0 and phase >= 2 then leaves = call('GETRANGE', LEAVES, from * 32, (from + most) * 32 - 1) end
local answer = state() .. pack('<ddddddd', held, limit, call('STRLEN', LEAVES) / 32, #root, #seed, #beacon, #leaves)
close()
return answer .. root .. seed .. beacon .. leaves .. table.concat(listed)
