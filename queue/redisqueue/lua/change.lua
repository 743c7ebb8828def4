-- Made by go run ./scripts/glue of room, stays, settings, bits, lanes, server, line, count, inside, change in parts. Edit those.
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
-- Follows bits.lua: kept orders, users that come back to them, and lanes. The hash slots
-- has, besides that of bits.lua,
--   k<segment>  -> slot of the bitmap kept
--   kept-until  -> in ms, when no order is kept any more
local function keep(from, to)
  if keep_for <= 0 or early() then return end
  local field = 'k' .. floor(from / 65536)
  local slot = call('HGET', KEYS[6], field)
  if not slot then
    slot = tonumber(call('HGET', KEYS[6], 'kept') or 0)
    call('HSET', KEYS[6], field, slot, 'kept', slot + 1)
    fresh = true
  end
  set_bits(KEYS[21], slot * 65536 + from % 65536, to - from + 1, 1)
  -- No ticket says a later time than three minutes from now.
  call('HSET', KEYS[6], 'kept-until', now + keep_for + 180000)
end

-- spend says whether an order is kept, and ends it.
local function spend(order)
  local slot = call('HGET', KEYS[6], 'k' .. floor(order / 65536))
  if not slot then return false end
  local at = slot * 65536 + order % 65536
  if call('GETBIT', KEYS[21], at) == 0 then return false end
  call('SETBIT', KEYS[21], at, 0)
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
  local key = KEYS[22 + lane]
  if call('EXISTS', key) == 0 then fresh = true end
  call('ZADD', key, order, user)
  use_lanes()
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
-- Follows stays.lua: counts users that come in and go out.

-- roll_stays makes the cohort of the present the newest.
local function roll_stays()
  local width, all = max(1, math.ceil(stay / (32 - 2))), '<' .. rep('d', 129)
  if not stays and stays_text and #stays_text == 129 * 8 then
    stays = {unpack(all, stays_text)}
  elseif not stays then
    stays, fresh = {}, true
    for i = 1, 129 do stays[i] = 0 end
  end
  local newest = floor(now / width)
  if stays[5] ~= width then
    for i = 9 + 1, 129 do stays[i] = 0 end
    stays[5], stays[6], stays[7], stays[8] = width, newest, now, now
  end
  while stays[6] < newest do
    stays[6] = max(stays[6] + 1, newest - 32 + 1)
    local at = 9 + 2 * (stays[6] % 32)
    stays[at + 1], stays[at + 2] = 0, 0
  end
  stays_changed = true
end

-- came_in counts a user that comes in now.
local function came_in()
  roll_stays()
  stays[1], stays[2], stays[3], stays[4] = stay, no_show, tick, batch
  local at = 9 + 2 * (stays[6] % 32)
  stays[at + 1] = stays[at + 1] + 1
  stays[at + 2] = stays[at + 2] + max(0, now - stays[6] * stays[5])
end

-- came_from_line counts for a user that has come in that it came from the line in time.
local function came_from_line()
  roll_stays()
  stays[9] = stays[9] + 1
  admitted(1)
end

-- went_out counts a user whose time inside was to end at ends, and that is out now.
-- The stays of the second count take the place of the others when there are as many
-- as several times the users inside.
local function went_out(ends)
  roll_stays()
  local began = ends - stay
  local number = min(floor(began / stays[5]), stays[6])
  local at = 9 + 2 * (number % 32)
  if number > stays[6] - 32 and stays[at + 1] > 0 then
    stays[at + 1] = stays[at + 1] - 1
    stays[at + 2] = stays[at + 1] > 0 and max(0, stays[at + 2] - began + number * stays[5]) or 0
  end
  local seconds, bucket = (min(now, ends) - began) / 1000, 1
  if seconds >= 1 then bucket = min(floor(2 * math.log(seconds) / math.log(2)) + 1, 28) end
  if began >= stays[7] then stays[73 + bucket] = stays[73 + bucket] + 1 end
  if began < stays[8] then return end
  stays[101 + bucket] = stays[101 + bucket] + 1
  local n = 0
  for i = 101 + 1, 129 do n = n + stays[i] end
  if n < 4 * max(threshold, 250) then return end
  for i = 1, 28 do stays[73 + i], stays[101 + i] = stays[101 + i], 0 end
  stays[7], stays[8] = stays[8], now
end
-- Follows line.lua: the active users, and those whose turn has come.

-- entry_of returns the order and the time of an entry. One that was evicted, as of
-- Redis without room, fails no script.
local function entry_of(user)
  local entry = call('HGET', KEYS[12], user)
  if not entry then return 1, now end
  return unpack('<dd', entry)
end

-- let_in gives a present user a place.
local function let_in(user, order)
  if active == 0 or call('ZCARD', KEYS[10]) == 0 then fresh = true end
  call('ZADD', KEYS[9], now + min(stay, grace), user)
  call('ZADD', KEYS[10], now, user)
  call('HSET', KEYS[12], user, pack('<dd', order, now + stay))
  active = active + 1
  add(15, 1)
  came_in()
end

-- sight is a sign of life of an active user, whose place ends at score. It returns
-- the order, how long is left, and until when. Releases before this one reserved places:
-- of a user with such a place it is the first.
local function sight(user, score)
  local order, ends = entry_of(user)
  if call('ZREM', KEYS[11], user) == 1 then
    if call('ZCARD', KEYS[10]) == 0 then fresh = true end
    ends = now + stay
    came_in()
    came_from_line()
    call('HSET', KEYS[12], user, pack('<dd', order, ends))
  end
  -- A user that is silent for the whole grace is out before.
  local until_ = min(ends, now + grace)
  if until_ ~= score then call('ZADD', KEYS[9], until_, user) end
  call('ZADD', KEYS[10], now, user)
  return order, ends - now, until_
end

-- put_out gives the place of an active user back.
local function put_out(user)
  call('ZREM', KEYS[9], user)
  call('ZREM', KEYS[10], user)
  if call('ZREM', KEYS[11], user) == 0 then
    local _, ends = entry_of(user)
    went_out(ends)
  end
  call('HDEL', KEYS[12], user)
  active = active - 1
end

-- miss notes a no-show that may come back to the kept order, without a ticket until the
-- time that it returns: of the last sign of life. A returner may not.
local function miss(user, order, last, score)
  add(16, 1)
  local twice = math.abs(score) > 2 ^ 53
  if not twice then keep(order, order) end
  if twice or last + grace <= now then
    call('ZREM', KEYS[13], user)
    call('HDEL', KEYS[12], user)
    return nil
  end
  call('ZADD', KEYS[13], last + grace, user)
  fresh = true
  return last + grace
end

-- expire takes a user out whose time is over.
local function expire(user)
  call('ZREM', KEYS[9], user)
  call('ZREM', KEYS[10], user)
  if call('ZREM', KEYS[11], user) == 0 then
    local _, ends = entry_of(user)
    went_out(ends)
    call('HDEL', KEYS[12], user)
    add(17, 1)
    return nil
  end
  local order, at = entry_of(user)
  return miss(user, order, at, 0)
end

-- end_turn takes a user out of the turns; its score there says whether it is silent.
local function end_turn(user, score)
  call('ZREM', KEYS[15], user)
  call('ZREM', KEYS[11], user)
  entitled = entitled - 1
  if score < 0 then silent = silent - 1 end
  if math.abs(score) > 2 ^ 53 then
    called = called - 1
    if score < 0 then called_silent = called_silent - 1 end
  elseif laned > 0 then
    laned = laned - call('ZREM', KEYS[18], user)
  end
end

-- lapse handles at most n due turns: users become silent, and turns end. A
-- release that reserved places may have put a user back into the line: that turn is over.
local function lapse(n)
  if entitled == 0 then return end
  local due = call('ZRANGEBYSCORE', KEYS[11], '-inf', now, 'LIMIT', 0, n)
  for _, user in ipairs(due) do
    local score, order, last = tonumber(call('ZSCORE', KEYS[15], user) or nil), entry_of(user)
    if not score then
      call('ZREM', KEYS[11], user)
    elseif not call('ZSCORE', KEYS[13], user) then
      end_turn(user, score)
    elseif last + no_show > now then
      call('ZADD', KEYS[11], last + no_show, user)
      if score > 0 then
        call('ZADD', KEYS[15], format('%.0f', -score), user)
        silent = silent + 1
        if score > 2 ^ 53 then called_silent = called_silent + 1 end
      end
    else
      end_turn(user, score)
      miss(user, order, last, score)
    end
  end
  return #due
end

-- clean removes at most n turns that are over, and returns how many it removed. MISSED has
-- the turns that are over until lapse has seen them all.
local function clean(n)
  if lapse(n) == n then return n end
  local over = call('ZRANGEBYSCORE', KEYS[9], '-inf', now, 'LIMIT', 0, n)
  for _, user in ipairs(over) do expire(user) end
  local left = n - #over
  if left == 0 then return n end
  local late = call('ZRANGEBYSCORE', KEYS[13], '-inf', now, 'LIMIT', 0, left)
  if #late > 0 then
    call('HDEL', KEYS[12], spread(late))
    call('ZREM', KEYS[13], spread(late))
  end
  return #over + #late
end

-- clean_some is for calls that have something else to do.
local function clean_some()
  lapse(50)
  if call('ZCARD', KEYS[9]) > active then clean(50) end
end
-- Carries out an operator's change.
-- KEYS as in room.lua
-- ARGV[1] as in room.lua, then packed doubles: threshold and paused (-1 changes
--   nothing), clear (1 or 0), gate (-1 changes nothing, 0 off, 1 on), positions, version
--   of the settings that threshold and paused are of (-1: of none), when the room opens in
--   ms (-1 changes nothing, 0: no opening), whether its draw was held, how many users
--   the event can serve (-2 changes nothing, -1: not known), whether ARGV[2] has shares,
--   whether newcomers are challenged (-1: not set), and how many users had left when it was
--   asked how many the event can serve (-1: those that have left by now), and of which epoch
-- ARGV[2] shares of lanes, as in settings.lua
-- KEYS[seen_at] draw, and the next leaves: as in draw.lua
-- returns packed doubles as in state() of room.lua
-- Cost: nothing that grows; cleared keys are freed in the background.
local new_threshold, paused, clear, gate, positions, new_version, opens_at, opened, new_stock, has_shares, new_challenge, gone, gone_of = unpack('<ddddddddddddd', ARGV[1], rest)
open()
clean(50)
if clear == 1 then
  call('UNLINK', KEYS[3], KEYS[4], KEYS[5], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[15], spread(KEYS, 17, 22 + lane_count))
  credits, credits_changed = nil, false
  room[1], room[2], room[8], room[3] = new_epoch, now, 0, room[4]
  raise(clock - 1)
  forget_stays()
  if phase > 0 then
    if phase == 4 then opens = 0 end
    phase = 0
    call('UNLINK', KEYS[seen_at], KEYS[seen_at + 1])
    write_settings()
  end
  -- The bitmap begins again, with a slot that has none of its bits in those of the
  -- minutes.
  room[13] = room[12]
  room[6] = room[6] + 1
  room[7] = room[6]
  for i = 14, 19 do room[i] = 0 end
  room[20], room[21], room[26] = 0, 0, 0
  changed = true
  count()
end
if new_version >= 0 then
  if new_version < set_version then
    new_threshold, paused, opens_at, new_challenge = -1, -1, -1, -1
  else
    if opens_at >= 0 and phase == 0 then
      opens = opens_at
      if opened == 1 then phase = 4 end
    end
    if set_version == -1 and paused < 0 then paused = was_paused end
    if has_shares == 1 then take_shares(ARGV[2]) end
    is_set, set_version, challenge = true, new_version, new_challenge
    write_settings()
  end
end
if new_challenge >= 0 and new_version < 0 then
  challenge = new_challenge
  write_settings()
end
if new_threshold >= 0 then
  threshold = new_threshold
  call('SET', KEYS[2], format('%.0f', threshold))
end
if paused >= 0 then room[9], fresh, changed = paused, true, true end
if gate == 1 and room[10] ~= 1 then
  room[10], room[11], fresh, changed = 1, room[4] - positions, true, true
elseif gate == 0 and room[10] == 1 then
  raise(room[11] + positions)
  room[10], fresh, changed = 2, true, true
end
if new_stock >= -1 then
  if stock == 0 then sold_out_at = clock end
  stock, stock_at = new_stock, clock
end
if new_stock >= -1 or (clear == 1 and stock_at > 0) then
  stock_base = active - room[15]
  -- A higher number is from before a loss. In another epoch all have left since.
  if new_stock >= -1 and gone >= 0 then stock_base = max(stock_base, gone_of == room[1] and -gone or 0) end
  call('SET', KEYS[22], pack('<dddd', stock, stock_at, stock_base, sold_out_at), 'PX', 24 * 3600000 + max(grace, 3600000))
end
local answer = state()
close()
return answer
