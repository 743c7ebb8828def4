-- Removes users whose time is over, and gives turns to the front of the line, of the lanes
-- and of the returners.
-- KEYS as in room.lua
-- ARGV[1] as in room.lua, then packed: most to do in this call, a double
-- returns packed doubles as in state() of room.lua, then more (1 or 0) and µs until
--   the next tick, and for each turn: order, a double, length of the user, 2 bytes, user
-- Cost: a ZPOPMIN and three ZADD of as many members, or with lanes and returners a ZRANGE
--   and a ZREM for each; see doc.go for times.
local most = unpack('<d', ARGV[1], rest)
open()
local left = math.ceil(max(most / 5, most - clean(most)))
if clock < room[TICK] or clock - room[TICK] >= tick then
  room[TICK], room[TAKEN], changed = clock, 0, true
end

-- may is how many turns may come: a free place without a taker is for one, and as many
-- more as there are silent users may be silent.
local function may()
  local without = free() - (entitled - silent)
  if without <= 0 then return 0 end
  return max(0, min(without + silent, batch - room[TAKEN], waiting + returning))
end

-- members are up to n users at the front of a lane. The void ones go; so that they hold up no
-- member, it looks behind them, within bounds.
local function members(key, n)
  local live, void
  repeat
    local found, users = call('ZRANGE', key, 0, n - 1, 'WITHSCORES'), {}
    live, void = {}, {}
    for i = 1, #found, 2 do users[#users + 1] = found[i] end
    local lined = #users > 0 and call('ZMSCORE', QUEUE, spread(users))
    for i = 1, #users do
      if lined[i] and tonumber(lined[i]) == tonumber(found[2 * i]) then
        live[#live + 1] = {users[i], tonumber(found[2 * i])}
      else
        void[#void + 1] = users[i]
      end
    end
    if #void > 0 then call('ZREM', key, spread(void)) end
    n = 2 * n
  until #void == 0 or n > 1000
  return live
end

local function front(key, n)
  local found, all = call('ZRANGE', key, 0, n - 1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do all[#all + 1] = {found[i], tonumber(found[i + 1])} end
  return all
end

-- choose takes n users out: a share is due when its credit, which grows with each turn, is
-- one. Sums of shares may be a little less. It returns pairs of user and order.
local DUE = 1 - 1e-9
local function choose(n)
  if not credits then
    local popped, all = call('ZPOPMIN', QUEUE, n), {}
    for i = 1, #popped, 2 do all[#all + 1] = {popped[i], tonumber(popped[i + 1])} end
    return all, all, {}, {}
  end
  use_lanes()
  local line, others, lanes, at = front(QUEUE, 2 * n), front(RETURNERS, n), {}, {}
  for k = 1, lane_count do lanes[k], at[k] = members(KEYS[LANE + k], 2 * n), 1 end
  local all, from_line, from_lanes, back, gone, first = {}, {}, {}, {}, {}, 1
  for i = 1, n do
    local one, head = nil, nil
    while line[first] and gone[line[first][1]] do first = first + 1 end
    head = line[first]
    credits[2] = min(1, credits[2] + 0.25)
    local other = others[#back + 1]
    if other and (credits[2] >= DUE or not head) then
      one, credits[2] = other, max(0, credits[2] - 1)
      back[#back + 1] = one
    end
    local laned_one
    for k = 1, lane_count do
      local credit = credits[2 + k] + lane_shares[k]
      if credit >= DUE then
        while lanes[k][at[k]] and gone[lanes[k][at[k]][1]] do at[k] = at[k] + 1 end
        local member = lanes[k][at[k]]
        if not member then
          credit = 1
        elseif not one then
          one, laned_one, credit = member, member, credit - 1
        end
      end
      credits[2 + k] = min(2, credit)
    end
    if not one or laned_one then
      one = one or head
      gone[one[1]] = true
      from_line[#from_line + 1] = one
      if one ~= head and one[1] ~= head[1] then from_lanes[#from_lanes + 1] = one end
    end
    all[i] = one
  end
  local function take(key, users)
    local names = {}
    for i = 1, #users do names[i] = users[i][1] end
    if #names > 0 then call('ZREM', key, spread(names)) end
  end
  take(QUEUE, from_line)
  take(RETURNERS, back)
  take(RETURNERS_SEEN, back)
  return all, from_line, from_lanes, back
end

-- unmark removes the marks of orders that have stopped waiting.
local function unmark(users)
  local orders, from, to = {}, nil, nil
  for i = 1, #users do orders[i] = users[i][2] end
  table.sort(orders)
  for i = 1, #orders do
    local order = orders[i]
    if to and to + 1 == order and order % SEGMENT > 0 then
      to = order
    else
      if from then mark(from, to, 0) end
      from, to = order, order
    end
  end
  if from then mark(from, to, 0) end
end

local n = min(may(), left)
local answers = {}
if n > 0 then
  if entitled == 0 then fresh = true end
  local all, from_line, from_lanes, back = choose(n)
  n = #all
  local due, until_ = format('%.17g', now + min(turn, no_show)), format('%.17g', now + max(grace, no_show))
  local turns, dues, rights, entries, behind, by_lane = {}, {}, {}, {}, {}, {}
  for i = 1, #back do behind[back[i][1]] = true end
  for i = 1, #from_lanes do by_lane[from_lanes[i][1]] = true end
  for i = 1, n do
    local user, order = all[i][1], all[i][2]
    turns[2 * i - 1], turns[2 * i] = format('%.0f', behind[user] and order * BEHIND or order), user
    dues[2 * i - 1], dues[2 * i] = due, user
    rights[2 * i - 1], rights[2 * i] = until_, user
    entries[2 * i - 1], entries[2 * i] = user, pack('<dd', order, now)
    answers[i] = pack('<dHc0', by_lane[user] and -order or order, #user, user)
  end
  unmark(from_line)
  call('ZADD', TURNS, spread(turns))
  call('ZADD', RESERVED, spread(dues))
  call('ZADD', MISSED, spread(rights))
  call('HSET', ENTRY, spread(entries))
  if #from_lanes > 0 then
    if laned == 0 then fresh = true end
    local some = {}
    for i = 1, #from_lanes do some[2 * i - 1], some[2 * i] = format('%.0f', from_lanes[i][2]), from_lanes[i][1] end
    call('ZADD', LANED, spread(some))
  end
  waiting, returning, entitled = waiting - #from_line, returning - #back, entitled + n
  laned, called = laned + #from_lanes, called + #back
  add(TAKEN, n)
  stamp_all()
end
local more = may() > 0 and 1 or 0
local answer = state() .. pack('<dd', more, room[TICK] + tick - clock)
close()
return answer .. table.concat(answers)
