-- Goes on where arrive.lua has not answered.
clean_some()

-- The visits, and where each user is: read once for all, and kept up to
-- date here.
local kinds, users, positions, epochs, tickets, untils, entries, lanes = {}, {}, {}, {}, {}, {}, {}, {}
local n = plain
for i = 1, n do kinds[i], users[i] = 0, ARGV[i + 2] end
if n == 0 then
  local at, text, last = 1, ARGV[3], #ARGV[3]
  while at <= last do
    n = n + 1
    local brings
    kinds[n], brings, users[n], at = unpack('<BBHc0', text, at)
    if brings > 0 then
      if brings % 2 == 1 then positions[n], at = unpack('<d', text, at) end
      if brings % 4 >= 2 then epochs[n], tickets[n], untils[n], at = unpack('<ddd', text, at) end
      if brings % 8 >= 4 then entries[n], at = unpack('<d', text, at) end
      if brings >= 8 then lanes[n], at = unpack('<d', text, at) end
    end
  end
end
local function scores(key)
  local found = {}
  if n == 0 or call('EXISTS', key) == 0 then return found end
  local all = call('ZMSCORE', key, spread(users))
  for i = 1, n do
    if all[i] then found[users[i]] = tonumber(all[i]) end
  end
  return found
end
local lined, inside, missing = scores(QUEUE), scores(ACTIVE), scores(MISSED)
local back = returning > 0 and scores(RETURNERS) or {}

-- Users that join at the end are written together, at the end of the call or before a
-- value is read that they would change.
local joining, joins, is_joining, run_from, run_to = {}, 0, {}, nil, nil
local function write()
  if joins == 0 then return end
  call('ZADD', QUEUE, spread(joining))
  mark(run_from, run_to, 1)
  alive(run_from, run_to, first)
  joining, joins, is_joining, run_from, run_to = {}, 0, {}, nil, nil
end

-- line_up returns how many are ahead: all whose turn has come in the line are.
local function line_up(user, order, at_end)
  if waiting == 0 then fresh = true end
  waiting = waiting + 1
  lined[user] = order
  if at_end then
    if run_to and (run_to + 1 ~= order or order % SEGMENT == 0) then write() end
    if not run_from then
      slot_of(order, true)
      run_from = order
    end
    run_to = order
    joining[joins + 1], joining[joins + 2] = format('%d', order), user
    joins = joins + 2
    is_joining[user] = true
    return in_turn() + waiting - 1
  end
  write()
  slot_of(order, true)
  call('ZADD', QUEUE, order, user)
  mark(order, order, 1)
  alive(order, order, first)
  return in_turn() + rank(user, order)
end

local function forget(user)
  call('ZREM', MISSED, user)
  call('HDEL', ENTRY, user)
  missing[user] = nil
end

-- counts says whether a ticket is of an epoch that was lost, and was renewed until then.
local function counts(epoch, ends)
  if epoch == room[EPOCH] or not young() then return false end
  return ends >= tonumber(call('HGET', SLOTS, 'lost') or room[STARTED])
end

-- old_order is the order of a ticket of a lost epoch, or of a ticket of this epoch that a
-- server gave out whose last writes were lost: its order was not taken, and its owner was
-- not silent for longer than others may be.
local function old_order(epoch, order, ends)
  if epoch == room[EPOCH] then
    if now > ends + grace then return nil end
    return take(order)
  elseif epoch and counts(epoch, ends) then
    room[SETTLED], changed = room[STARTED] + settle, true
    return take(order)
  end
end

-- kept_order is that of a user outside, by name or by ticket, which counts once. Before the
-- opening there are no places to keep.
local function kept_order(user, epoch, order, ends)
  if early() then return nil end
  if missing[user] then
    local old = entry_of(user)
    local late = missing[user] <= now
    forget(user)
    if not late then
      spend(old)
      return old
    end
  end
  if epoch == room[EPOCH] and now <= ends + keep_for and spend(order) then return order end
end

-- come_back has a user wait among the returners.
local function come_back(user, order)
  use_lanes()
  credits[1] = credits[1] + 1
  if enters_at_once() then
    let_in(user, order)
    inside[user] = now + min(stay, grace)
    return 2, order, 0, stay, 2
  end
  if returning == 0 then fresh = true end
  call('ZADD', RETURNERS, order, user)
  call('ZADD', RETURNERS_SEEN, now, user)
  returning = returning + 1
  back[user] = order
  return 1, order, called + call('ZRANK', RETURNERS, user), 0, 5
end

local function visit_returner(kind, user)
  if kind == 2 then
    call('ZREM', RETURNERS, user)
    call('ZREM', RETURNERS_SEEN, user)
    returning, back[user] = returning - 1, nil
    add(DEPARTED, 1)
    return 0, 0, 0, 0, 1
  end
  if kind == 4 then return 0, 0, 0, 0, 0 end
  if kind ~= 3 then call('ZADD', RETURNERS_SEEN, now, user) end
  return 1, back[user], called + call('ZRANK', RETURNERS, user), 0, 4
end

-- arrive admits a user that is neither inside nor in line, or lines the user up.
local function arrive(user, position, epoch, ticket, ends, lane)
  local kept = kept_order(user, epoch, ticket, ends)
  if kept then return come_back(user, kept) end
  local order = old_order(epoch, ticket, ends)
  if not order and position and room[GATE] > 0 then
    local given = room[GATEBASE] + position
    if room[GATE] == 1 or given <= room[HIGHEST] then order = take(given) end
  end
  -- The orders above the highest are those of positions that are on their way.
  if not order and room[GATE] == 1 then return 3, 0, 0, 0, 0 end
  local at_end = not order
  if at_end then
    order = room[HIGHEST] + 1
    room[HIGHEST] = order
  end
  add(JOINED, 1)
  if enters_at_once() then
    let_in(user, order)
    inside[user] = now + min(stay, grace)
    return 2, order, 0, stay, 2
  end
  if lane then join_lane(lane, user, order) end
  return 1, order, line_up(user, order, at_end), 0, 1
end

-- visit_turn serves a user whose turn has come: a poll takes a free place that no taker
-- before this user has a right to.
local function visit_turn(kind, user, score)
  if kind == 2 then
    end_turn(user, score)
    forget(user)
    add(DEPARTED, 1)
    return 0, 0, 0, 0, 1
  end
  if kind == 4 then return 0, 0, 0, 0, 0 end
  local place = math.abs(score)
  local returner, order = place > BETWEEN, place
  if returner then order = entry_of(user) end
  local before = call('ZCOUNT', TURNS, '(0', format('(%.0f', place))
  if kind ~= 3 then
    if free() > before then
      end_turn(user, score)
      call('ZREM', MISSED, user)
      missing[user] = nil
      let_in(user, order)
      came_from_line()
      inside[user] = now + min(stay, grace)
      return 2, order, 0, stay, 2
    end
    if score < 0 then
      silent = silent - 1
      if returner then called_silent = called_silent - 1 end
    end
    call('ZADD', TURNS, format('%.0f', place), user)
    call('ZADD', RESERVED, now + no_show, user)
    call('ZADD', MISSED, now + max(grace, no_show), user)
    call('HSET', ENTRY, user, pack('<dd', order, now))
  end
  if returner then -- of these alone
    return 1, order, call('ZCOUNT', TURNS, BETWEEN, format('(%.0f', place)) +
      call('ZCOUNT', TURNS, format('(-%.0f', place), -BETWEEN), 0, 6
  end
  if laned > 0 then before = before - call('ZCOUNT', LANED, '-inf', format('(%.0f', order)) end
  return 1, order, before + call('ZCOUNT', TURNS, format('(-%.0f', order), '(0'), 0, 3
end

local function visit(kind, user, position, epoch, ticket, ends, entry, lane)
  local place = inside[user]
  if place and place <= now then
    missing[user] = expire(user)
    inside[user], place = nil, nil
  end
  if place then
    if kind == 2 or kind == 3 then
      put_out(user)
      inside[user] = nil
      add(DEPARTED, 1)
      return 0, 0, 0, 0, 1
    end
    if kind == 4 and entry_of(user) ~= entry then return 0, 0, 0, 0, 0 end
    local order, left, until_ = sight(user, place)
    inside[user] = until_
    return 2, order, 0, left, 0
  end
  local order = lined[user]
  if order then
    if is_joining[user] then write() end
    if kind == 2 then
      drop(user, order)
      lined[user] = nil
      add(DEPARTED, 1)
      return 0, 0, 0, 0, 1
    end
    if kind == 4 then return 0, 0, 0, 0, 0 end
    local ahead = in_turn() + rank(user, order)
    if kind ~= 3 then alive(order, order, first) end
    return 1, order, ahead, 0, 0
  end
  if missing[user] and entitled > 0 then
    local score = call('ZSCORE', TURNS, user)
    if score then return visit_turn(kind, user, tonumber(score)) end
  end
  if back[user] then return visit_returner(kind, user) end
  if kind == 0 then return arrive(user, position, epoch, ticket, ends, lane) end
  if kind == 2 and missing[user] then
    local old = entry_of(user)
    spend(old)
    forget(user)
  end
  return 0, 0, 0, 0, 0
end

local nobody = waiting + returning + entitled + active == 0
local answers = {}
for i = 1, n do
  local status, order, ahead, left, new = visit(kinds[i], users[i], positions[i], epochs[i], tickets[i], untils[i], entries[i], lanes[i])
  answers[i] = pack('<BBddd', status, new, order, ahead, left)
end
write()
stamp_all()
if waiting + returning + entitled + active > 0 then
  if nobody then woke = 1 end
  if room[EMPTY_AT] ~= 0 then woke, room[EMPTY_AT], changed = 1, 0, true end
end
local answer = state()
close()
return answer .. table.concat(answers)
