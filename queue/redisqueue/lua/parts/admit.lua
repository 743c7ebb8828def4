-- Removes users whose time is over, and admits users from the front of the line.
-- KEYS as in room.lua
-- ARGV[1] as in room.lua, then packed: most to do in this call, a double
-- returns packed doubles as in state() of room.lua, then more (1 or 0) and µs until
--   the next tick, and for each admitted: order, a double, length of the user,
--   2 bytes, user
-- Cost: a ZPOPMIN and two ZADD of as many members; see doc.go for times.
local most = unpack('<d', ARGV[1], rest)
open()
local left = max(most / 5, most - clean(most))
if clock < room[TICK] or clock - room[TICK] >= tick then
  room[TICK], room[TAKEN], changed = clock, 0, true
end

local function may()
  if room[PAUSED] == 1 or settling() > 0 then return 0 end
  return max(0, min(threshold - active, batch - room[TAKEN], waiting))
end

local n = min(may(), left)
local answers = {}
if n > 0 then
  if reserved == 0 then fresh = true end
  local popped, ends = call('ZPOPMIN', QUEUE, n), now + no_show
  n = #popped / 2
  local scores, entries, from, to = {}, {}, nil, nil
  for i = 1, n do
    local user, order = popped[2 * i - 1], tonumber(popped[2 * i])
    scores[2 * i - 1], scores[2 * i] = ends, user
    entries[2 * i - 1], entries[2 * i] = user, pack('<dd', order, now)
    answers[i] = pack('<dHc0', order, #user, user)
    if to and to + 1 == order and order % SEGMENT > 0 then
      to = order
    else
      if from then mark(from, to, 0) end
      from, to = order, order
    end
  end
  mark(from, to, 0)
  call('ZADD', ACTIVE, spread(scores))
  call('ZADD', RESERVED, spread(scores))
  call('HSET', ENTRY, spread(entries))
  waiting, active, reserved = waiting - n, active + n, reserved + n
  add(ENTERED, n)
  add(TAKEN, n)
  admitted(n)
  stamp_all()
end
local more = may() > 0 and 1 or 0
local answer = state() .. pack('<dd', more, room[TICK] + tick - clock)
close()
return answer .. table.concat(answers)
