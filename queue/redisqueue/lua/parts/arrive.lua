-- Serves visits in their order, and marks their users as alive. It follows server.lua,
-- and visit.lua follows it by way of line.lua and inside.lua: newcomers at the end of a
-- line, the most visits of a rush, need none of their functions, which take Lua longer
-- to make than to line up ten.
-- KEYS as in room.lua, and KEYS[seen_at] and the next: seen:<minute> STRING, bitmap of the users
--   that were heard of from then on, of the caller's time, and the next
-- ARGV[1] as in room.lua, then packed doubles: number of the period of KEYS[seen_at], and
--   of the beats epoch and how many; then how many plain visits there are: checks of
--   as many users, without a ticket or the like; then twice an epoch that the caller
--   knows, and when it last heard of it, in ms; then the highest order that it has seen
-- ARGV[2] orders of the beats, packed doubles
-- ARGV[3] and on the users of plain visits; without those ARGV[3] for each visit packed: kind (0 check, 1 heartbeat, 2 leave, 3 done, 4 verify)
--   and its parts (1 position + 2 ticket + 4 entry + 8 lane), a byte each; length of the
--   user, 2 bytes; user; then doubles: position; epoch, order and until in ms; entry; the number of the lane
-- returns the clock in µs alone, a double, when another period is on, else
--   packed doubles as in state() of room.lua, and the order of the first when all are
--   plain and have joined at the end, a double; else for each visit packed
--   status (0 none, 1 waiting, 2 active, 3 gated) and new (0 no, 1 yes, 2 let in by this
--   visit, 3 waits and its turn has come; of a returner 4 no, 5 yes, 6 its turn has come), a
--   byte each, and doubles order, ahead, ms left
-- Cost: joins at the end two lookups and a ZADD each, others of the line a ZRANK or
--   ZREM, O(log n) of those waiting; at 1,000,000 waiting about 4 µs a join.
local first, beats_epoch, beats, plain, epoch_1, heard_1, epoch_2, heard_2, highest = unpack('<ddddddddd', ARGV[1], rest)
local this = floor(now / span)
if this < first or this > first + 1 then return pack('<d', clock) end
open()

-- young says whether the room waits for those that it has lost: an epoch that began
-- by clearing, and so has a floor, has lost no user. No room is forgotten for want of
-- a call within LAPSE, so one that was heard of since has lost its data.
local LAPSE = 86400000
local function young() return room[FLOOR] == 0 and math.abs(now - room[STARTED]) < settle end

local function heard_of(epoch, at)
  if epoch == 0 or epoch == room[EPOCH] or at <= room[STARTED] - LAPSE or not young() then return end
  local lost = min(at, room[STARTED])
  if lost > tonumber(call('HGET', SLOTS, 'lost') or 0) then
    call('HSET', SLOTS, 'lost', lost)
    room[SETTLED] = room[STARTED] + settle
    fresh, changed = true, true
  end
end
heard_of(epoch_1, heard_1)
heard_of(epoch_2, heard_2)
moved()
if highest <= MOST then raise(highest) end

if beats > 0 and beats_epoch == room[EPOCH] then
  local at = 1
  for from = 1, beats, 100 do
    local n = min(100, beats - from + 1)
    local orders = {unpack('<' .. rep('d', n), ARGV[2], at)}
    at = orders[n + 1]
    all_alive(orders, n, first)
  end
end

-- newcomers lines up the users of plain visits, unless one could enter or is known, or a
-- turn is due. It returns the first order.
local function newcomers()
  if plain == 0 or waiting == 0 or room[GATE] == 1 then return nil end
  if entitled > 0 and call('ZCOUNT', RESERVED, '-inf', now) > 0 then return nil end
  local from, to = room[HIGHEST] + 1, room[HIGHEST] + plain
  local lined, known = call('ZMSCORE', QUEUE, spread(ARGV, 3, plain + 2)), call('HMGET', ENTRY, spread(ARGV, 3, plain + 2))
  local back = returning > 0 and call('ZMSCORE', RETURNERS, spread(ARGV, 3, plain + 2)) or {}
  for i = 1, plain do
    if lined[i] or known[i] or back[i] then return nil end
  end
  local joining = {}
  for i = 1, plain do joining[2 * i - 1], joining[2 * i] = format('%d', from + i - 1), ARGV[i + 2] end
  call('ZADD', QUEUE, spread(joining))
  mark(from, to, 1)
  alive(from, to, first)
  stamp_all()
  waiting = waiting + plain
  add(HIGHEST, plain)
  add(JOINED, plain)
  return from
end

local joined = newcomers()
if joined then
  local answer = state() .. pack('<d', joined)
  close()
  return answer
end
