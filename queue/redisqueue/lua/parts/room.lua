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
local ROOM, THRESHOLD, QUEUE, WAITING, VERSIONS, SLOTS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local USED, RUNS, ACTIVE, HEARD, RESERVED, ENTRY, MISSED = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local STAYS, TURNS, SETTINGS = KEYS[14], KEYS[15], KEYS[16]
local LANES, LANED, RETURNERS, RETURNERS_SEEN, KEPT, STOCK, LANE = KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21], KEYS[22], 22

local EPOCH, STARTED, FLOOR, HIGHEST, SOLID, VERSION, OLDEST = 1, 2, 3, 4, 5, 6, 7
local SETTLED, PAUSED, GATE, GATEBASE, NEXT, BASE = 8, 9, 10, 11, 12, 13
local JOINED, ENTERED, NOSHOWS, EXPIRED, DEPARTED, SWEPT = 14, 15, 16, 17, 18, 19
local TICK, TAKEN, SWEPT_AT, EMPTY_AT, RENEWED, RATE_SINCE, RATE_LAST, RATES = 20, 21, 22, 23, 24, 25, 26, 27
local HELD, SERVER = 39, 40
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
local FIELDS = 40
local PERIOD, PERIODS = 5000, 12
local RENEWAL = 3600000
local shape = '<' .. rep('d', FIELDS)

local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = floor(clock / 1000)
local new_epoch, usual, stay, grace, no_show, tick, batch, every, settle, minutes, turn, guarded, stocked, keep_for, lane_count, rest = unpack('<ddddddddddddddd', ARGV[1])
local shares = {unpack('<' .. rep('d', lane_count), ARGV[1], rest)}
rest = shares[lane_count + 1]
local lane_shares, set_shares = shares, '' -- those that hold, and those of operators; see settings.lua
local seen_at = LANE + lane_count + 1
local span = minutes * 60000

-- All turns are entitled; of these are laned those that came in a lane, and called those
-- of returners, with called_silent of them silent. returning wait for their turn. A double
-- holds BEHIND times an order exactly, and would round the sum of the two.
local BEHIND, BETWEEN = 2 ^ 54, 2 ^ 53
local room, threshold, waiting, active, entitled, silent
local credits, credits_changed, laned, called, called_silent, returning = nil, false, 0, 0, 0, 0
local changed, fresh, woke = false, false, 0
local stays_text, told_stays, keep_stays, forget_stays -- of stays.lua
local stock, stock_at, stock_base, sold_out_at = -1, 0, 0, 0
local set_version, was_paused, opens, phase, challenge, is_set, read_settings = 0, 0, 0, 0, -1, false, nil -- of settings.lua

-- begin makes a new room. The remains of an earlier room belong to no user.
local function begin()
  call('UNLINK', QUEUE, WAITING, VERSIONS, SLOTS, USED, RUNS, ACTIVE, HEARD, RESERVED, ENTRY, MISSED, TURNS, SETTINGS, spread(KEYS, 17, LANE + lane_count))
  credits = nil
  forget_stays()
  room = {}
  for i = 1, FIELDS do room[i] = 0 end
  room[EPOCH], room[STARTED], room[HIGHEST], room[SOLID] = new_epoch, now, clock - 1, clock
  room[VERSION], room[OLDEST] = 1, 1
  changed, fresh = true, true
end

-- count sets waiting, active, entitled and silent. Users inside whose time is over do
-- not count, cleaned or not.
local function count()
  waiting = call('ZCARD', QUEUE)
  active = call('ZCOUNT', ACTIVE, '(' .. now, '+inf')
  entitled, silent = call('ZCARD', TURNS), 0
  if entitled > 0 then silent = call('ZCOUNT', TURNS, '-inf', '(0') end
  laned, called, called_silent, returning = 0, 0, 0, 0
  if not credits then return end
  returning = call('ZCARD', RETURNERS)
  if entitled == 0 then return end
  laned, called_silent = call('ZCARD', LANED), call('ZCOUNT', TURNS, '-inf', -BETWEEN)
  called = called_silent + call('ZCOUNT', TURNS, BETWEEN, '+inf')
end

-- in_turn is how many entitled users are before all users that wait in the line: those of
-- lanes and returners are not, so that no position rises by them.
local function in_turn() return entitled - laned - called end

local function open()
  local stored = call('MGET', ROOM, THRESHOLD, STAYS, SETTINGS, LANES, STOCK)
  stays_text = stored[3]
  if stored[1] and #stored[1] == FIELDS * 8 then
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
  local period, last = floor(now / PERIOD), room[RATE_LAST]
  if period < last or period >= last + PERIODS then
    for i = 0, PERIODS - 1 do room[RATES + i] = 0 end
    room[RATE_SINCE] = now
  else
    for i = last + 1, period do room[RATES + i % PERIODS] = 0 end
  end
  room[RATE_LAST] = period
  add(RATES + period % PERIODS, n)
end

-- rate returns how many were admitted within the last minute, and over how many ms:
-- a tick for the first, and never more than those periods that lie in the minute.
local function rate()
  local period, last, sum = floor(now / PERIOD), room[RATE_LAST], 0
  for i = max(period, last) - PERIODS + 1, min(period, last) do sum = sum + room[RATES + i % PERIODS] end
  if sum == 0 then return 0, 0 end
  return sum, min(now - room[RATE_SINCE] + floor(tick / 1000), now - (period - PERIODS + 1) * PERIOD)
end

-- early says that the room has not opened yet; see settings.lua.
local OPENED = 4
local function early() return opens > 0 and (phase < OPENED or now < opens) end

-- settled_in is the time in ms in which a room gathers those with a ticket, after a loss:
-- not longer after a step of the clock.
local function settled_in()
  local left = room[SETTLED] - now
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
  if room[PAUSED] == 1 or settling() > 0 or (stocked == 1 and stock_at == 0) then return 0 end
  local places = threshold - active
  if stock >= 0 then places = min(places, stock - stock_base - room[ENTERED]) end
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
  return pack('<dddddddddddddddddd', woke, room[EPOCH], clock, threshold, room[PAUSED], room[GATE] == 1 and 1 or 0,
    settled_in(), waiting + entitled + returning, in_turn(), silent - called_silent, active, sum, over,
    room[JOINED], room[ENTERED], room[NOSHOWS], room[EXPIRED], room[DEPARTED]) ..
    pack('<ddddddddddd', laned, returning + called, credits and credits[1] or 0, room[SWEPT], room[SERVER] > 0 and floor(room[VERSION] / 2 ^ 32) or 0, set_version,
      early() and opens or 0, phase, stock, stock_at, stock >= 0 and stock_base + room[ENTERED] - active or 0) ..
    pack('<dd' .. rep('d', lane_count), challenge, lane_count, spread(lane_shares, 1, lane_count)) .. told_stays()
end

-- close writes the room back. All keys expire after a day without a call, but for
-- an operator's setting, which may be for a day to come.
local function close()
  local renew = fresh or now - room[RENEWED] > RENEWAL or now < room[RENEWED]
  if renew then room[RENEWED] = now end
  if changed or renew then call('SET', ROOM, pack(shape, spread(room)), 'KEEPTTL') end
  if credits_changed then call('SET', LANES, pack('<' .. rep('d', #credits), spread(credits)), 'KEEPTTL') end
  keep_stays()
  if not renew then return end
  local kept = 24 * RENEWAL + max(grace, RENEWAL)
  for i = 3, 15 do call('PEXPIRE', KEYS[i], kept) end
  call('PEXPIRE', STOCK, kept)
  if credits or keep_for > 0 then
    for i = 17, LANE + lane_count do call('PEXPIRE', KEYS[i], kept) end
  end
  if room[PAUSED] == 1 or room[GATE] == 1 or early() or (challenge >= 0 and not is_set) then
    call('PERSIST', ROOM)
    call('PERSIST', SETTINGS)
  else
    call('PEXPIRE', ROOM, kept)
    call('PEXPIRE', SETTINGS, kept)
  end
end
