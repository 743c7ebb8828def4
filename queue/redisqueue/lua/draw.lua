-- Made by go run ./scripts/glue of room, stays, settings, bits, server, line, draw in parts. Edit those.
-- Begins every script: whose clock decides, the rules, and the room. Nothing is
-- read or written before open() is called.
-- KEYS[1] room      STRING  40 packed doubles, as numbered below
-- KEYS[2] threshold STRING  the operator's setting; decimal
-- KEYS[3] queue     ZSET    order -> user: all waiting users
-- KEYS[4] waiting   STRING  bitmap: which orders wait; see line.lua
-- KEYS[5] versions  ZSET    version of the last change -> block of 1,024 orders
-- KEYS[6] slots     HASH    where the bits of a segment of 65,536 orders are; see line.lua
-- KEYS[7] used      STRING  bitmap: which orders from outside were taken
-- KEYS[8] runs      ZSET    last -> first order of the runs that the room itself has given out
-- KEYS[9] active    ZSET    expiry in ms -> user: inside or admitted
-- KEYS[10] active-seen ZSET last sign of life in ms -> user: inside
-- KEYS[11] reserved ZSET    ms -> user whose turn has come: when a taker is silent, or the turn
--                           ends; users admitted by releases that reserved places are here, too
-- KEYS[12] entry    HASH    user -> packed: order, and when the time inside ends in ms
--                           (turns and missed: when the turn came, or they were heard of)
-- KEYS[13] missed   ZSET    until when in ms -> user: turns, and no-shows with a right to their old order
-- KEYS[14] stays    STRING  how long users stay; see stays.lua
-- KEYS[15] turns    ZSET    order -> taker, and -order -> silent user: their turn has come; the
--                           orders of returners are times BEHIND
-- KEYS[16] settings STRING  which settings the room has; see settings.lua
-- KEYS[17] lanes    STRING  packed doubles: users that came back to a kept order; credits of
--                           the returners and of each lane. Without it there are none of both
-- KEYS[18] laned    ZSET    order -> user of turns whose turn came in a lane
-- KEYS[19] returners ZSET   order -> user that came back to a kept order
-- KEYS[20] returners-seen ZSET last sign of life in ms -> user of these
-- KEYS[21] kept     STRING  bitmap: which orders are kept; see lanes.lua
-- KEYS[22] stock    STRING  packed doubles: how many users the event can serve, -1 where that
--                           is not known; when an admitter said so, in µs; how many users
--                           were inside then, less ENTERED; and when the last stock of 0 ended, in µs
-- KEYS[23] and on lane:<name> ZSET order -> user of the line, for each lane
-- ARGV[1] packed doubles: an epoch in case a new one begins, threshold, then in ms
--   active, seen, no-show, then tick in µs, batch, then in ms sweep-every, settle,
--   how many minutes a key seen:<minute> is for, ms from a turn on until its user is silent,
--   whether a new room is closed, whether no user enters before the stock is told, for how
--   many ms an order is kept, how many lanes there are, and the share of each
-- Cost: one MGET, two ZCARD and two ZCOUNT; at the end one SET where something changed.
local call, pack, unpack, spread = redis.call, struct.pack, struct.unpack, unpack
local floor, min, max, rep, format = math.floor, math.min, math.max, string.rep, string.format
-- ROOM, THRESHOLD, QUEUE, WAITING, VERSIONS, SLOTS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
-- USED, RUNS, ACTIVE, HEARD, RESERVED, ENTRY, MISSED = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
-- STAYS, TURNS, SETTINGS = KEYS[14], KEYS[15], KEYS[16]
-- LANES, LANED, RETURNERS, RETURNERS_SEEN, KEPT, STOCK, LANE = KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21], KEYS[22], 22

-- EPOCH, STARTED, FLOOR, HIGHEST, SOLID, VERSION, OLDEST = 1, 2, 3, 4, 5, 6, 7
-- SETTLED, PAUSED, GATE, GATEBASE, NEXT, BASE = 8, 9, 10, 11, 12, 13
-- JOINED, ENTERED, NOSHOWS, EXPIRED, DEPARTED, SWEPT = 14, 15, 16, 17, 18, 19
-- TICK, TAKEN, SWEPT_AT, EMPTY_AT, RENEWED, RATE_SINCE, RATE_LAST, RATES = 20, 21, 22, 23, 24, 25, 26, 27
-- HELD, SERVER = 39, 40
-- EPOCH random; STARTED ms. FLOOR: the highest order when the room was cleared, 0 in
-- an epoch that did not begin so.
-- HIGHEST order given out or taken; the room gave out all from SOLID to HIGHEST.
-- VERSION of the last change; a look from below OLDEST starts again.
-- SETTLED: ms, until when no user enters. GATE: 0 never on, 1 on, 2 was on.
-- NEXT slot to give out, BASE the first in the bitmap of the waiting. Then the
-- counts of queue.State. TICK: its start in µs, with TAKEN turns. SWEPT_AT: ms,
-- the last beginning. EMPTY_AT: ms, since when sweeps find no user, or 0.
-- RENEWED: ms, when all keys' expiry was. RATES: admissions of the last 12 periods
-- of 5 s, RATE_LAST the newest of them, RATE_SINCE in ms when they began. HELD: ms,
-- until when no sweep removes a user. SERVER: the first 48 bits of the replication id
-- of the server that the last visit or look was at; each other one adds 2^32 to VERSION.
-- LANE + 1: the first of the keys lane:<name>. seen_at: the first of the keys seen:<minute>.
-- FIELDS = 40
-- PERIOD, PERIODS = 5000, 12
-- RENEWAL = 3600000
local shape = '<' .. rep('d', 40)

local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = floor(clock / 1000)
local new_epoch, usual, stay, grace, no_show, tick, batch, every, settle, minutes, turn, guarded, stocked, keep_for, lane_count, rest = unpack('<ddddddddddddddd', ARGV[1])
local shares = {unpack('<' .. rep('d', lane_count), ARGV[1], rest)}
rest = shares[lane_count + 1]
local lane_shares, set_shares = shares, '' -- those that hold, and those of operators; see settings.lua
local seen_at = 22 + lane_count + 1
local span = minutes * 60000

-- All turns are entitled; of these are laned those that came in a lane, and called those
-- of returners, with called_silent of them silent. returning wait for their turn. A double
-- holds BEHIND times an order exactly, and would round the sum of the two.
-- BEHIND, BETWEEN = 2 ^ 54, 2 ^ 53
local room, threshold, waiting, active, entitled, silent
local credits, credits_changed, laned, called, called_silent, returning = nil, false, 0, 0, 0, 0
local changed, fresh, woke = false, false, 0
local stays_text, told_stays, keep_stays, forget_stays -- of stays.lua
local stock, stock_at, stock_base, sold_out_at = -1, 0, 0, 0
local set_version, was_paused, opens, phase, challenge, is_set, read_settings = 0, 0, 0, 0, -1, false, nil -- of settings.lua

-- begin makes a new room. The remains of an earlier room belong to no user.
local function begin()
  call('UNLINK', KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[15], KEYS[16], spread(KEYS, 17, 22 + lane_count))
  credits = nil
  forget_stays()
  room = {}
  for i = 1, 40 do room[i] = 0 end
  room[1], room[2], room[4], room[5] = new_epoch, now, clock - 1, clock
  room[6], room[7] = 1, 1
  changed, fresh = true, true
end

-- count sets waiting, active, entitled and silent. Users inside whose time is over do
-- not count, cleaned or not.
local function count()
  waiting = call('ZCARD', KEYS[3])
  active = call('ZCOUNT', KEYS[9], '(' .. now, '+inf')
  entitled, silent = call('ZCARD', KEYS[15]), 0
  if entitled > 0 then silent = call('ZCOUNT', KEYS[15], '-inf', '(0') end
  laned, called, called_silent, returning = 0, 0, 0, 0
  if not credits then return end
  returning = call('ZCARD', KEYS[19])
  if entitled == 0 then return end
  laned, called_silent = call('ZCARD', KEYS[18]), call('ZCOUNT', KEYS[15], '-inf', -2 ^ 53)
  called = called_silent + call('ZCOUNT', KEYS[15], 2 ^ 53, '+inf')
end

-- in_turn is how many entitled users are before all users that wait in the line: those of
-- lanes and returners are not, so that no position rises by them.
local function in_turn() return entitled - laned - called end

local function open()
  local stored = call('MGET', KEYS[1], KEYS[2], KEYS[14], KEYS[16], KEYS[17], KEYS[22])
  stays_text = stored[3]
  if stored[1] and #stored[1] == 40 * 8 then
    room = {unpack(shape, stored[1])}
    if stored[5] then credits = {unpack('<' .. rep('d', floor(#stored[5] / 8)), stored[5])} end
    if credits then credits[#credits] = nil end -- the place after the last
  else
    begin()
    stored[4], stored[6] = nil, nil
  end
  if stored[6] then
    stock, stock_at, stock_base = unpack('<ddd', stored[6])
    if #stored[6] > 24 then sold_out_at = unpack('<d', stored[6], 25) end -- releases before have none
  end
  read_settings(stored[4])
  threshold = tonumber(stored[2]) or usual
  count()
end

local function add(field, n)
  room[field] = room[field] + n
  changed = true
end

-- admitted counts n users of the line that took a place for the rate.
local function admitted(n)
  local period, last = floor(now / 5000), room[26]
  if period < last or period >= last + 12 then
    for i = 0, 12 - 1 do room[27 + i] = 0 end
    room[25] = now
  else
    for i = last + 1, period do room[27 + i % 12] = 0 end
  end
  room[26] = period
  add(27 + period % 12, n)
end

-- rate returns how many were admitted within the last minute, and over how many ms:
-- a tick for the first, and never more than those periods that lie in the minute.
local function rate()
  local period, last, sum = floor(now / 5000), room[26], 0
  for i = max(period, last) - 12 + 1, min(period, last) do sum = sum + room[27 + i % 12] end
  if sum == 0 then return 0, 0 end
  return sum, min(now - room[25] + floor(tick / 1000), now - (period - 12 + 1) * 5000)
end

-- early says that the room has not opened yet; see settings.lua.
-- OPENED = 4
local function early() return opens > 0 and (phase < 4 or now < opens) end

-- settled_in is the time in ms in which a room gathers those with a ticket, after a loss:
-- not longer after a step of the clock.
local function settled_in()
  local left = room[8] - now
  if left > 0 and left <= settle then return left end
  return 0
end

-- settling is the time in ms in which no user enters.
local function settling()
  if early() then return max(1, opens - now) end
  return settled_in()
end

-- free is how many places are free, for takers first. Of the stock, users that have gone
-- since it was told may have taken some.
local function free()
  if room[9] == 1 or settling() > 0 or (stocked == 1 and stock_at == 0) then return 0 end
  local places = threshold - active
  if stock >= 0 then places = min(places, stock - stock_base - room[15]) end
  return max(0, places)
end

-- enters_at_once says whether a newcomer finds a place that no user before has a right to.
-- When seats come back to a house that was sold out, users whose turn has come take one at
-- their next poll. Until they must have polled, a newcomer lines up behind them.
local function enters_at_once()
  if waiting + returning > 0 then return false end
  local takers, since = entitled - silent, clock - sold_out_at
  if takers > 0 and stock >= 0 and since >= 0 and since < min(turn, no_show) * 1000 then return false end
  return free() > takers
end

local function state()
  local sum, over = rate()
  return pack('<dddddddddddddddddd', woke, room[1], clock, threshold, room[9], room[10] == 1 and 1 or 0,
    settled_in(), waiting + entitled + returning, in_turn(), silent - called_silent, active, sum, over,
    room[14], room[15], room[16], room[17], room[18]) ..
    pack('<ddddddddddd', laned, returning + called, credits and credits[1] or 0, room[19], room[40] > 0 and floor(room[6] / 2 ^ 32) or 0, set_version,
      early() and opens or 0, phase, stock, stock_at, stock >= 0 and stock_base + room[15] - active or 0) ..
    pack('<dd' .. rep('d', lane_count), challenge, lane_count, spread(lane_shares, 1, lane_count)) .. told_stays()
end

-- close writes the room back. All keys expire after a day without a call, but for
-- an operator's setting, which may be for a day to come.
local function close()
  local renew = fresh or now - room[24] > 3600000 or now < room[24]
  if renew then room[24] = now end
  if changed or renew then call('SET', KEYS[1], pack(shape, spread(room)), 'KEEPTTL') end
  if credits_changed then call('SET', KEYS[17], pack('<' .. rep('d', #credits), spread(credits)), 'KEEPTTL') end
  keep_stays()
  if not renew then return end
  local kept = 24 * 3600000 + max(grace, 3600000)
  for i = 3, 15 do call('PEXPIRE', KEYS[i], kept) end
  call('PEXPIRE', KEYS[22], kept)
  if credits or keep_for > 0 then
    for i = 17, 22 + lane_count do call('PEXPIRE', KEYS[i], kept) end
  end
  if room[9] == 1 or room[10] == 1 or early() or (challenge >= 0 and not is_set) then
    call('PERSIST', KEYS[1])
    call('PERSIST', KEYS[16])
  else
    call('PEXPIRE', KEYS[1], kept)
    call('PEXPIRE', KEYS[16], kept)
  end
end
-- Follows room.lua: how long users stay inside, in a fixed number of counts. KEYS[14]
-- has packed doubles: the rules by which a user came in last, as in ARGV[1]: active,
-- no-show, tick and batch; the span of a cohort in ms and the number of the newest;
-- ms, from when on the ended stays are counted, and recounted; users of the line that
-- came in; for each cohort the users inside and the sum of ms from its beginning to when
-- they came in; then the ended stays, and the recounted ones, by buckets of their length
-- as in queue/driver.StayBucket.
-- OF_ACTIVE, OF_MISS, OF_TICK, OF_BATCH, OF_SPAN, OF_NEWEST, OF_SINCE, OF_NEXT, OF_CAME = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- OF_INSIDE, OF_ENDED, OF_ANEW, OF_ALL, COHORTS, BUCKETS = 9, 73, 101, 129, 32, 28
local stays, stays_changed

-- told_stays returns how many doubles follow, and those up to the stays that are over;
-- the rules alone where no user has entered.
function told_stays()
  if stays then return pack('<' .. rep('d', 101 + 1), 101, spread(stays, 1, 101)) end
  if stays_text and #stays_text == 129 * 8 then return pack('<d', 101) .. string.sub(stays_text, 1, 101 * 8) end
  return pack('<ddddd', 4, stay, no_show, tick, batch)
end

function keep_stays()
  if stays_changed then call('SET', KEYS[14], pack('<' .. rep('d', 129), spread(stays)), 'KEEPTTL') end
end

function forget_stays()
  call('UNLINK', KEYS[14])
  stays, stays_text, stays_changed = nil, nil, false
end
-- Follows room.lua: which of the operators' settings the room has. KEYS[16] has packed
-- doubles: their version, CLOSED until there is one, UNSET in a room without settings outside;
-- whether the room was paused before it was closed; when it opens, in ms, or 0; the phase of
-- its draw (0 gathering, 1 frozen, 2 rooted, 3 seeded, 4 opened). Then come the shares of lanes
-- that operators have set: for each the length of its name, the name, and the share. The name
-- CHALLENGE, which no lane has, is whether newcomers are challenged (1 or 0; absent: no
-- operator has said so). It lives as long as the room. Without it the room is new, or was kept
-- by a release that wrote none. A room that has no version is closed where the caller says so.
-- UNSET, CLOSED, FREEZES, CHALLENGE = -2, -1, 5000, ':challenge'

local function write_settings()
  local flag = challenge >= 0 and pack('<Hc0d', #':challenge', ':challenge', challenge) or ''
  call('SET', KEYS[16], pack('<dddd', is_set and set_version or -2, was_paused, opens, phase) .. set_shares .. flag)
  fresh, changed = true, true
end

-- take_shares has shares of operators hold in place of those of the rules, and the switch of
-- the challenge, if the text has it at its end.
local function take_shares(text)
  local by_name, at, from = {}, 1, 1
  while at <= #text do
    local name, share
    from = at
    name, share, at = unpack('<Hc0d', text, at)
    by_name[name] = share
  end
  if by_name[':challenge'] then challenge, text = by_name[':challenge'], string.sub(text, 1, from - 1) end
  set_shares, lane_shares = text, {}
  for k = 1, lane_count do lane_shares[k] = by_name[string.match(KEYS[22 + k], '[^:]*$')] or shares[k] end
end

function read_settings(text)
  if text and #text >= 32 then
    set_version, was_paused, opens, phase = unpack('<dddd', text)
    if #text > 32 then take_shares(string.sub(text, 33)) end
    is_set = set_version ~= -2
    if not is_set then set_version = 0 end
  end
  if guarded == 1 and not is_set then
    is_set, set_version, was_paused, room[9] = true, -1, room[9], 1
    write_settings()
  end
end
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
-- SEGMENT, BLOCK, MOST = 65536, 1024, (2 ^ 53 - 2 ^ 32)
local cached = {}

-- slot_of returns the slot of an order, or false; it makes one when asked.
local function slot_of(order, make)
  local segment = floor(order / 65536)
  local slot = cached[segment]
  if slot == nil then
    slot = tonumber(call('HGET', KEYS[6], segment))
    if not slot or slot < room[13] then slot = false end
  end
  if not slot and make then
    slot = room[12]
    add(12, 1)
    call('HSET', KEYS[6], segment, slot)
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
    local upto = min(to, (floor(from / 65536) + 1) * 65536 - 1)
    set_bits(key, (slot_of(from, true) - base) * 65536 + from % 65536, upto - from + 1, bit)
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
  seen_base = tonumber(call('HGET', KEYS[6], field))
  if seen_base then return end
  seen_base = room[13]
  call('HSET', KEYS[6], field, seen_base)
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
  local shift, segment, delta = 1 / 65536, nil, nil
  for i = 1, n do
    local order = orders[i]
    local its = floor(order * shift)
    if its ~= segment then
      segment, delta = its, nil
      local slot = slot_of(order)
      if slot and slot >= seen_base then delta = (slot - seen_base - segment) * 65536 end
    end
    if delta then call('SETBIT', seen, format('%d', order + delta), '1') end
  end
end

-- Blocks that have changed get a version each, so that a look can stop after any.
local stamped = {}
local function stamp(from, to)
  for block = floor(from / 1024), floor(to / 1024) do stamped[block] = true end
end

local function stamp_all()
  local pairs_, n = {}, 0
  for block in pairs(stamped) do
    add(6, 1)
    pairs_[n + 1], pairs_[n + 2] = room[6], block
    n = n + 2
    if n == 1000 then
      call('ZADD', KEYS[5], spread(pairs_))
      pairs_, n = {}, 0
    end
  end
  if n > 0 then call('ZADD', KEYS[5], spread(pairs_)) end
  stamped = {}
end

-- How many wait in each segment is counted when many are asked for their place.
local numbers, segments

-- mark notes that orders of a segment wait (1) or do not (0).
local function mark(from, to, bit)
  fill(KEYS[4], room[13], from, to, bit)
  stamp(from, to)
  if not numbers then return end
  local segment, n = floor(from / 65536), to - from + 1
  if not numbers[segment] then
    numbers = nil
  elseif bit == 1 then
    numbers[segment] = numbers[segment] + n
  else
    numbers[segment] = numbers[segment] - n
  end
end
-- Follows bits.lua: takes over facts that callers know, and that its server may have lost.
-- raise has the room go on above an order, which it did not give out itself.
local function raise(order)
  if order <= room[4] then return end
  if room[5] <= room[4] then
    call('ZADD', KEYS[8], room[4], room[5])
    fresh = true
  end
  room[4], room[5], changed = order, order + 1, true
end

-- moved is for another server than that of the last call, or a new start of it: its
-- data may be older than earlier answers. Orders go on above those that may have been
-- given out since, and a version may come again for something else: so all looks
-- begin again, above all there was. The id is new at each start of a master and each
-- promotion; it is 0 where the server does not show it.
-- LEAP = 1048576
local function moved()
  local id = string.match(call('INFO', 'replication'), 'master_replid:(%x%x%x%x%x%x%x%x%x%x%x%x)')
  id = id and tonumber(id, 16) or 0
  if id == room[40] then return end
  if room[40] > 0 and room[4] < (2 ^ 53 - 2 ^ 32) - 1048576 then raise(room[4] + 1048576) end
  room[40] = id
  add(6, 2 ^ 32)
  room[7] = room[6]
  for _, block in ipairs(call('ZRANGE', KEYS[5], 0, -1)) do stamped[tonumber(block)] = true end
  stamp_all()
end
-- Follows server.lua: orders, and places in the line.
-- taken says whether an order was given out or taken.
local function taken(order)
  if order > room[4] then return false end
  if order >= room[5] then return true end
  local run = call('ZRANGEBYSCORE', KEYS[8], order, '+inf', 'LIMIT', 0, 1)
  if run[1] and tonumber(run[1]) <= order then return true end
  local slot = call('HGET', KEYS[6], 'u' .. floor(order / 65536))
  return slot and call('GETBIT', KEYS[7], slot * 65536 + order % 65536) == 1
end

-- take takes an order from outside, if no user has taken it.
local function take(order)
  if order < 1 or order > (2 ^ 53 - 2 ^ 32) or taken(order) then return nil end
  local field = 'u' .. floor(order / 65536)
  local slot = call('HGET', KEYS[6], field)
  if not slot then
    slot = tonumber(call('HGET', KEYS[6], 'used') or 0)
    call('HSET', KEYS[6], field, slot, 'used', slot + 1)
    fresh = true
  end
  call('SETBIT', KEYS[7], slot * 65536 + order % 65536, 1)
  raise(order)
  return order
end

-- drop removes a waiting user from the line.
local function drop(user, order)
  waiting = waiting - call('ZREM', KEYS[3], user)
  mark(order, order, 0)
end

local function number_all()
  numbers, segments = {}, {}
  local all = call('HGETALL', KEYS[6])
  for i = 1, #all, 2 do
    local segment, slot = tonumber(all[i]), tonumber(all[i + 1])
    if segment and slot >= room[13] then
      local from = (slot - room[13]) * 65536 / 8
      segments[#segments + 1] = segment
      numbers[segment] = call('BITCOUNT', KEYS[4], from, from + 65536 / 8 - 1)
    end
  end
  table.sort(segments)
end

-- rank returns how many are ahead. Counting bits is ten times as fast as a ZRANK in
-- a long line, once they are counted for each segment.
local asked = 0
local function rank(user, order)
  asked = asked + 1
  if asked <= 16 or room[12] - room[13] > 64 then return call('ZRANK', KEYS[3], user) end
  if not numbers then number_all() end
  local segment, before = floor(order / 65536), 0
  for i = 1, #segments do
    if segments[i] >= segment then break end
    before = before + numbers[segments[i]]
  end
  local at = order % 65536
  if at == 0 then return before end
  local from = (slot_of(order) - room[13]) * 65536
  return before + call('BITCOUNT', KEYS[4], from, from + at - 1, 'BIT')
end

-- bits_of returns the bits of n blocks of a segment, 128 bytes each.
local function bits_of(block, n)
  local slot, bits = slot_of(block * 1024), ''
  if slot then
    local from = ((slot - room[13]) * 65536 + block * 1024 % 65536) / 8
    bits = call('GETRANGE', KEYS[4], from, from + n * 128 - 1)
  end
  return bits .. rep('\0', n * 128 - #bits)
end
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
-- DRAW, LEAVES = KEYS[seen_at + 2], KEYS[seen_at + 3]
-- HOLD, KEPT = 3000, 604800000
-- LOOK, FREEZE, LIST, ADD, ROOTED, SEEDED, MOVE, OPEN = 0, 1, 2, 3, 4, 5, 6, 7
local first, kind, holder, from, most = unpack('<ddddd', ARGV[1], rest)
local given = ARGV[2]
local this = floor(now / span)
if this < first or this > first + 1 then return pack('<d', clock) end
open()
moved()
local d = call('HMGET', KEYS[seen_at + 2], 'limit', 'holder', 'until')
local limit, held_until = tonumber(d[1]) or 0, tonumber(d[3]) or 0
local held = 0
if kind ~= 0 and opens > 0 and phase < 4 and now >= opens - 5000 then
  if tonumber(d[2]) == holder or now >= held_until or held_until > now + 3000 then held = 1 end
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
  local old, into, run, to = call('ZMSCORE', KEYS[3], spread(users)), {}, nil, nil
  local lanes = {}
  for k = 1, credits and lane_count or 0 do lanes[k] = {was = call('ZMSCORE', KEYS[22 + k], spread(users)), into = {}} end
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
        order = room[4] + 1
        add(4, 1)
      end
      into[#into + 1], into[#into + 2] = order, users[i]
      for _, lane in ipairs(lanes) do
        local at = #lane.into
        if lane.was[i] == old[i] then lane.into[at + 1], lane.into[at + 2] = order, users[i] end
      end
      mark(was, was, 0)
      if to and to + 1 == order and order % 65536 > 0 then
        to = order
      else
        flush()
        run, to = order, order
      end
    end
  end
  flush()
  if #into == 0 then return end
  call('ZADD', KEYS[3], spread(into))
  for k, lane in ipairs(lanes) do
    if #lane.into > 0 then call('ZADD', KEYS[22 + k], spread(lane.into)) end
  end
end

local listed = {}
if held == 1 then
  call('HSET', KEYS[seen_at + 2], 'holder', format('%.0f', holder), 'until', now + 3000)
  call('PEXPIRE', KEYS[seen_at + 2], 604800000)
  if kind == 1 and phase == 0 then
    -- The orders of the participants are given out now, so that all later users are
    -- behind them: also users that come back by a ticket before they are listed.
    limit = room[4]
    call('HSET', KEYS[seen_at + 2], 'limit', format('%.0f', limit))
    call('UNLINK', KEYS[seen_at + 3])
    call('HDEL', KEYS[seen_at + 2], 'root', 'seed', 'beacon') -- of a room that lapsed before its draw
    add(4, waiting + 1048576)
    enter(1)
  elseif kind == 2 then
    local found = call('ZRANGEBYSCORE', KEYS[3], '(' .. format('%.0f', from), format('%.0f', limit), 'WITHSCORES', 'LIMIT', 0, most)
    for i = 1, #found, 2 do
      listed[#listed + 1] = pack('<dHc0', tonumber(found[i + 1]), #found[i], found[i])
    end
  elseif kind == 3 and phase == 1 then
    if from == 0 then call('UNLINK', KEYS[seen_at + 3]) end
    if call('STRLEN', KEYS[seen_at + 3]) == from * 32 then
      call('APPEND', KEYS[seen_at + 3], given)
      call('PEXPIRE', KEYS[seen_at + 3], 604800000)
    else
      held = 0
    end
  elseif kind == 4 and phase == 1 and call('STRLEN', KEYS[seen_at + 3]) == most * 32 then
    call('HSET', KEYS[seen_at + 2], 'root', given)
    enter(2)
  elseif kind == 5 and phase == 2 then
    call('HSET', KEYS[seen_at + 2], 'seed', string.sub(given, 1, 32), 'beacon', string.sub(given, 33))
    enter(3)
  elseif kind == 6 and phase == 3 then
    move()
  elseif kind == 7 and phase == 3 and call('ZCOUNT', KEYS[3], '-inf', format('%.0f', limit)) == 0 then
    enter(4)
  end
end
stamp_all()
local told = call('HMGET', KEYS[seen_at + 2], 'root', 'seed', 'beacon')
local root, seed, beacon = told[1] or '', told[2] or '', told[3] or ''
local leaves = ''
if kind == 0 and most > 0 and phase >= 2 then leaves = call('GETRANGE', KEYS[seen_at + 3], from * 32, (from + most) * 32 - 1) end
local answer = state() .. pack('<ddddddd', held, limit, call('STRLEN', KEYS[seen_at + 3]) / 32, #root, #seed, #beacon, #leaves)
close()
return answer .. root .. seed .. beacon .. leaves .. table.concat(listed)
