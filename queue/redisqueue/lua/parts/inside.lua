-- Follows line.lua: the active users, and those whose turn has come.

-- entry_of returns the order and the time of an entry. One that was evicted, as of
-- Redis without room, fails no script.
local function entry_of(user)
  local entry = call('HGET', ENTRY, user)
  if not entry then return 1, now end
  return unpack('<dd', entry)
end

-- let_in gives a present user a place.
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
-- the order, how long is left, and until when. Releases before this one reserved places:
-- of a user with such a place it is the first.
local function sight(user, score)
  local order, ends = entry_of(user)
  if call('ZREM', RESERVED, user) == 1 then
    if call('ZCARD', HEARD) == 0 then fresh = true end
    ends = now + stay
    came_in()
    came_from_line()
    call('HSET', ENTRY, user, pack('<dd', order, ends))
  end
  -- A user that is silent for the whole grace is out before.
  local until_ = min(ends, now + grace)
  if until_ ~= score then call('ZADD', ACTIVE, until_, user) end
  call('ZADD', HEARD, now, user)
  return order, ends - now, until_
end

-- put_out gives the place of an active user back.
local function put_out(user)
  call('ZREM', ACTIVE, user)
  call('ZREM', HEARD, user)
  if call('ZREM', RESERVED, user) == 0 then
    local _, ends = entry_of(user)
    went_out(ends)
  end
  call('HDEL', ENTRY, user)
  active = active - 1
end

-- miss notes a no-show that may come back to the kept order, without a ticket until the
-- time that it returns: of the last sign of life. A returner may not.
local function miss(user, order, last, score)
  add(NOSHOWS, 1)
  local twice = math.abs(score) > BETWEEN
  if not twice then keep(order, order) end
  if twice or last + grace <= now then
    call('ZREM', MISSED, user)
    call('HDEL', ENTRY, user)
    return nil
  end
  call('ZADD', MISSED, last + grace, user)
  fresh = true
  return last + grace
end

-- expire takes a user out whose time is over.
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
  local order, at = entry_of(user)
  return miss(user, order, at, 0)
end

-- end_turn takes a user out of the turns; its score there says whether it is silent.
local function end_turn(user, score)
  call('ZREM', TURNS, user)
  call('ZREM', RESERVED, user)
  entitled = entitled - 1
  if score < 0 then silent = silent - 1 end
  if math.abs(score) > BETWEEN then
    called = called - 1
    if score < 0 then called_silent = called_silent - 1 end
  elseif laned > 0 then
    laned = laned - call('ZREM', LANED, user)
  end
end

-- lapse handles at most n due turns: users become silent, and turns end. A
-- release that reserved places may have put a user back into the line: that turn is over.
local function lapse(n)
  if entitled == 0 then return end
  local due = call('ZRANGEBYSCORE', RESERVED, '-inf', now, 'LIMIT', 0, n)
  for _, user in ipairs(due) do
    local score, order, last = tonumber(call('ZSCORE', TURNS, user) or nil), entry_of(user)
    if not score then
      call('ZREM', RESERVED, user)
    elseif not call('ZSCORE', MISSED, user) then
      end_turn(user, score)
    elseif last + no_show > now then
      call('ZADD', RESERVED, last + no_show, user)
      if score > 0 then
        call('ZADD', TURNS, format('%.0f', -score), user)
        silent = silent + 1
        if score > BETWEEN then called_silent = called_silent + 1 end
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
  lapse(50)
  if call('ZCARD', ACTIVE) > active then clean(50) end
end
