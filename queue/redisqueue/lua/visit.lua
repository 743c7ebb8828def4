-- Serves visits in their order, and marks those as alive who were heard of.
-- KEYS as in room.lua, and KEYS[14] and KEYS[15]: seen:<minute> STRING, bitmap of who
--   was heard of from then on, of the time that it is for the caller, and the next
-- ARGV[1] as in room.lua, then packed doubles: number of the period of KEYS[14], and
--   of the beats epoch and how many
-- ARGV[2] orders of the beats, packed doubles
-- ARGV[3] for each visit packed: kind (0 check, 1 heartbeat, 2 leave, 3 done, 4 verify)
--   and what it brings (1 position + 2 ticket + 4 entry), a byte each; length of the
--   user, 2 bytes; user; then doubles: position; epoch and order; entry
-- returns the clock in µs alone, a double, when another period is on, else
--   packed doubles as in state() of room.lua, and for each visit packed
--   status (0 none, 1 waiting, 2 active, 3 gated) and new, a byte each, and doubles
--   order, ahead, ms left
-- Cost: joins at the end two lookups and a ZADD each, others of the line a ZRANK or
--   ZREM, O(log n) of those who wait; at 1,000,000 waiting about 4 µs a join.
local first, beats_epoch, beats = unpack('<ddd', ARGV[1], rest)
local this = floor(now / span)
if this < first or this > first + 1 then return pack('<d', clock) end
open()
clean_some()

if beats > 0 and beats_epoch == room[EPOCH] then
  local at = 1
  for from = 1, beats, 100 do
    local n = min(100, beats - from + 1)
    local orders = {unpack('<' .. rep('d', n), ARGV[2], at)}
    at = orders[n + 1]
    all_alive(orders, n, first)
  end
end

-- What the visits are, and where each user is: read once for all, and kept up to
-- date here.
local kinds, users, positions, epochs, tickets, entries = {}, {}, {}, {}, {}, {}
local n = 0
do
  local at, text, last = 1, ARGV[3], #ARGV[3]
  while at <= last do
    n = n + 1
    local brings
    kinds[n], brings, users[n], at = unpack('<BBHc0', text, at)
    if brings > 0 then
      if brings % 2 == 1 then positions[n], at = unpack('<d', text, at) end
      if brings % 4 >= 2 then epochs[n], tickets[n], at = unpack('<dd', text, at) end
      if brings >= 4 then entries[n], at = unpack('<d', text, at) end
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

-- Who joins at the end is written with all others who do, at the end or when
-- somebody asks for what they would change.
local joining, joins, is_joining, run_from, run_to = {}, 0, {}, nil, nil
local function write()
  if joins == 0 then return end
  call('ZADD', QUEUE, spread(joining))
  mark(run_from, run_to, 1)
  alive(run_from, run_to, first)
  joining, joins, is_joining, run_from, run_to = {}, 0, {}, nil, nil
end

-- line_up returns how many are ahead.
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
    joining[joins + 1], joining[joins + 2] = order, user
    joins = joins + 2
    is_joining[user] = true
    return waiting - 1
  end
  write()
  slot_of(order, true)
  call('ZADD', QUEUE, order, user)
  mark(order, order, 1)
  alive(order, order, first)
  return rank(user, order)
end

local function forget(user)
  call('ZREM', MISSED, user)
  call('HDEL', ENTRY, user)
  missing[user] = nil
end

-- old_order is that of a no-show who comes back, or of a ticket of a lost epoch,
-- which a young room waits for.
local function old_order(user, epoch, order)
  if missing[user] then
    local old = entry_of(user)
    local late = missing[user] <= now
    forget(user)
    if not late then return old end
  end
  if epoch and epoch ~= room[EPOCH] and order > room[FLOOR] then
    if now < room[STARTED] + settle and room[SETTLED] == 0 then
      room[SETTLED], changed = room[STARTED] + settle, true
    end
    return take(order)
  end
end

-- arrive lets in or lines up who is neither inside nor in line.
local function arrive(user, position, epoch, ticket)
  local order = old_order(user, epoch, ticket)
  if not order and room[GATE] == 1 and not position then return 3, 0, 0, 0, 0 end
  if not order and position and room[GATE] > 0 then
    local given = room[GATEBASE] + position
    if room[GATE] == 1 or given <= room[HIGHEST] then order = take(given) end
  end
  local at_end = not order
  if at_end then
    order = room[HIGHEST] + 1
    room[HIGHEST] = order
  end
  add(JOINED, 1)
  if waiting == 0 and active < threshold and room[PAUSED] == 0 and settling() == 0 then
    let_in(user, order)
    inside[user] = now + min(stay, grace)
    return 2, order, 0, stay, 1
  end
  return 1, order, line_up(user, order, at_end), 0, 1
end

local function visit(kind, user, position, epoch, ticket, entry)
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
    local order, left, is_first, ends = sight(user, place)
    inside[user] = ends
    return 2, order, 0, left, is_first and 1 or 0
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
    local ahead = rank(user, order)
    if kind ~= 3 then alive(order, order, first) end
    return 1, order, ahead, 0, 0
  end
  if kind == 0 then return arrive(user, position, epoch, ticket) end
  if kind == 2 and missing[user] then forget(user) end
  return 0, 0, 0, 0, 0
end

local nobody = waiting + active == 0
local answers = {}
for i = 1, n do
  local status, order, ahead, left, new = visit(kinds[i], users[i], positions[i], epochs[i], tickets[i], entries[i])
  answers[i] = pack('<BBddd', status, new, order, ahead, left)
end
write()
stamp_all()
if waiting + active > 0 then
  if nobody then woke = 1 end
  if room[EMPTY_AT] ~= 0 then woke, room[EMPTY_AT], changed = 1, 0, true end
end
local answer = state()
close()
return answer .. table.concat(answers)
