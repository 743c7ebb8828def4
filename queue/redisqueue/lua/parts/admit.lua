-- Removes users whose time is over, and gives turns to the front of the line.
-- KEYS as in room.lua
-- ARGV[1] as in room.lua, then packed: most to do in this call, a double
-- returns packed doubles as in state() of room.lua, then more (1 or 0) and µs until
--   the next tick, and for each turn: order, a double, length of the user, 2 bytes, user
-- Cost: a ZPOPMIN and three ZADD of as many members; see doc.go for times.
local most = unpack('<d', ARGV[1], rest)
open()
local left = max(most / 5, most - clean(most))
if clock < room[TICK] or clock - room[TICK] >= tick then
  room[TICK], room[TAKEN], changed = clock, 0, true
end

-- may is how many turns may come: a free place without a taker is for one, and as many
-- more as there are silent users may be silent.
local function may()
  local without = free() - (entitled - silent)
  if without <= 0 then return 0 end
  return max(0, min(without + silent, batch - room[TAKEN], waiting))
end

local n = min(may(), left)
local answers = {}
if n > 0 then
  if entitled == 0 then fresh = true end
  local popped = call('ZPOPMIN', QUEUE, n)
  local due, until_ = now + min(turn, no_show), now + max(grace, no_show)
  n = #popped / 2
  local turns, dues, rights, entries, from, to = {}, {}, {}, {}, nil, nil
  for i = 1, n do
    local user, order = popped[2 * i - 1], tonumber(popped[2 * i])
    turns[2 * i - 1], turns[2 * i] = popped[2 * i], user
    dues[2 * i - 1], dues[2 * i] = due, user
    rights[2 * i - 1], rights[2 * i] = until_, user
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
  call('ZADD', TURNS, spread(turns))
  call('ZADD', RESERVED, spread(dues))
  call('ZADD', MISSED, spread(rights))
  call('HSET', ENTRY, spread(entries))
  waiting, entitled = waiting - n, entitled + n
  add(TAKEN, n)
  stamp_all()
end
local more = may() > 0 and 1 or 0
local answer = state() .. pack('<dd', more, room[TICK] + tick - clock)
close()
return answer .. table.concat(answers)
