-- Follows line.lua: the active users.

-- entry_of returns the order and the time of an entry. One that was evicted, as of
-- Redis without room, fails no script.
local function entry_of(user)
  local entry = call('HGET', ENTRY, user)
  if not entry then return 1, now end
  return unpack('<dd', entry)
end

-- let_in admits a present user without a line.
local function let_in(user, order)
  if active == 0 or call('ZCARD', HEARD) == 0 then fresh = true end
  call('ZADD', ACTIVE, now + min(stay, grace), user)
  call('ZADD', HEARD, now, user)
  call('HSET', ENTRY, user, pack('<dd', order, now + stay))
  active = active + 1
  add(ENTERED, 1)
  came_in()
end

-- sight is a sign of life of an active user, whose place ends at score. It returns
-- the order, how long is left, and whether it is the first.
local function sight(user, score)
  local order, ends = entry_of(user)
  local first = call('ZREM', RESERVED, user) == 1
  if first then
    if call('ZCARD', HEARD) == 0 then fresh = true end
    ends, reserved = now + stay, reserved - 1
    came_from_line()
    call('HSET', ENTRY, user, pack('<dd', order, ends))
  end
  -- Who is not heard of for as long as the grace is out before.
  local until_ = min(ends, now + grace)
  if until_ ~= score then call('ZADD', ACTIVE, until_, user) end
  call('ZADD', HEARD, now, user)
  return order, ends - now, first, until_
end

-- put_out gives the place of an active user back.
local function put_out(user)
  call('ZREM', ACTIVE, user)
  call('ZREM', HEARD, user)
  if call('ZREM', RESERVED, user) == 1 then
    reserved = reserved - 1
  else
    local _, ends = entry_of(user)
    went_out(ends)
  end
  call('HDEL', ENTRY, user)
  active = active - 1
end

-- expire takes a user out whose time is over. A no-show may come back to the old
-- order until the time that it returns.
local function expire(user)
  call('ZREM', ACTIVE, user)
  call('ZREM', HEARD, user)
  if call('ZREM', RESERVED, user) == 0 then
    local _, ends = entry_of(user)
    went_out(ends)
    call('HDEL', ENTRY, user)
    add(EXPIRED, 1)
    return nil
  end
  add(NOSHOWS, 1)
  local _, at = entry_of(user)
  if at + grace <= now then
    call('HDEL', ENTRY, user)
    return nil
  end
  call('ZADD', MISSED, at + grace, user)
  fresh = true
  return at + grace
end

-- clean does what is over, at most n, and returns how many it was.
local function clean(n)
  local over = call('ZRANGEBYSCORE', ACTIVE, '-inf', now, 'LIMIT', 0, n)
  for _, user in ipairs(over) do expire(user) end
  local left = n - #over
  if left == 0 then return n end
  local late = call('ZRANGEBYSCORE', MISSED, '-inf', now, 'LIMIT', 0, left)
  if #late > 0 then
    call('HDEL', ENTRY, spread(late))
    call('ZREM', MISSED, spread(late))
  end
  return #over + #late
end

-- clean_some is for calls that have something else to do.
local function clean_some()
  if call('ZCARD', ACTIVE) > active then clean(50) end
end
