-- Removes waiting users without a sign of life for the grace, block by block.
-- KEYS as in room.lua, and from KEYS[seen_at] on seen:<minute>: of all times at which
--   a user may have been heard of within the grace
-- ARGV[1] as in room.lua, then packed doubles: the period of KEYS[seen_at], the block to
--   begin with, how many to remove and blocks to look at, at most
-- returns the clock in µs alone, a double, when others are needed, else
--   packed doubles as in state() of room.lua, then removed, next, done (1 or 0) and
--   forget (1 or 0: no call for the event since the last sweep)
-- Cost: for each 16 blocks a GETRANGE for each period, until all of them were seen
--   alive; a ZREMRANGEBYSCORE for each run of those who were not seen.
local first, next, most, blocks = unpack('<dddd', ARGV[1], rest)
local oldest, newest = floor((now - grace) / span), floor(now / span)
if oldest < first or newest > first + #KEYS - seen_at then return pack('<d', clock) end
open()
local removed, done, forget = 0, 0, 0

local function finish()
  stamp_all()
  local answer = state() .. pack('<dddd', removed, done == 1 and 0 or max(1, next), done, forget)
  close()
  return answer
end

-- hold is for a clock that was set back: the last signs of life may have times that are
-- now in the future, so all users have the grace for the next one.
local function hold(future)
  if room[HELD] > 0 and now >= room[HELD] then
    room[HELD], changed = 0, true
    return future
  end
  if #future > 0 and (room[HELD] == 0 or room[HELD] > now + grace) then
    room[HELD], changed = now + grace, true
  end
  return {}
end

-- tidy_slots forgets periods that are over, and segments before the head of the line.
local function tidy_slots()
  local head = call('ZRANGE', QUEUE, 0, 0, 'WITHSCORES')[2]
  local front = head and floor(head / SEGMENT) or math.huge
  local lowest, all, gone, future = room[NEXT], call('HGETALL', SLOTS), {}, {}
  local kept_until, kept_fields = nil, {}
  for i = 1, #all, 2 do
    local field, slot = all[i], tonumber(all[i + 1])
    local segment, of_minute = tonumber(field), string.match(field, '^m(%d+)$')
    if segment then
      if segment < front or slot < room[BASE] then
        gone[#gone + 1] = field
        cached[segment] = nil
      else
        lowest = min(lowest, slot)
      end
    elseif of_minute and tonumber(of_minute) < oldest * minutes then
      gone[#gone + 1] = field
    elseif of_minute and tonumber(of_minute) > newest * minutes then
      future[#future + 1] = field
    elseif field == 'kept-until' then
      kept_until = slot
    elseif string.match(field, '^k') then
      kept_fields[#kept_fields + 1] = field
    end
  end
  if kept_until and kept_until < now then
    call('UNLINK', KEPT)
    gone[#gone + 1] = 'kept-until'
    for _, field in ipairs(kept_fields) do gone[#gone + 1] = field end
  end
  for _, field in ipairs(hold(future)) do gone[#gone + 1] = field end
  for i = 1, #gone, 1000 do call('HDEL', SLOTS, spread(gone, i, min(i + 999, #gone))) end
  -- The bitmap is moved down when half of it belongs to no user.
  local saved = (lowest - room[BASE]) * SEGMENT / 8
  if saved > 0 and 2 * saved >= call('STRLEN', WAITING) then
    if head then
      call('SET', WAITING, call('GETRANGE', WAITING, saved, -1), 'KEEPTTL')
    else
      call('UNLINK', WAITING)
    end
    room[BASE], changed = lowest, true
  end
end

-- tidy_versions forgets empty blocks when most are. It begins with those that
-- changed first, and gives those with users a new version, so that all remaining
-- ones are above the forgotten ones: a look that goes page by page ends.
local function tidy_versions()
  if call('ZCARD', VERSIONS) <= 1024 + waiting / 256 then return end
  local empty, gone = rep('\0', 128), {}
  local found = call('ZRANGE', VERSIONS, 0, 63, 'WITHSCORES')
  for i = 1, #found, 2 do
    local block = tonumber(found[i])
    if bits_of(block, 1) == empty then
      gone[#gone + 1] = found[i]
      room[OLDEST], changed = tonumber(found[i + 1]), true
    else
      stamped[block] = true
    end
  end
  if #gone > 0 then call('ZREM', VERSIONS, spread(gone)) end
end

-- dead returns the words of 32 orders of n blocks, at most 16 of a segment, without
-- the bits of users that were heard of, and which of the words have any left.
local bases = {}
local function dead(block, n)
  local shape = '>' .. rep('I4', n * 32)
  local words, left = {unpack(shape, bits_of(block, n))}, {}
  for i = 1, n * 32 do
    if words[i] ~= 0 then left[#left + 1] = i end
  end
  local slot = slot_of(block * BLOCK)
  for at = newest, oldest, -1 do
    if #left == 0 then break end
    local base = bases[at]
    if base == nil then
      base = tonumber(call('HGET', SLOTS, 'm' .. at * minutes)) or false
      bases[at] = base
    end
    if base and slot and slot >= base then
      local from = ((slot - base) * SEGMENT + block * BLOCK % SEGMENT) / 8
      local bits = call('GETRANGE', KEYS[seen_at + at - first], from, from + n * 128 - 1)
      if #bits > 0 then
        local heard, still = {unpack(shape, bits .. rep('\0', n * 128 - #bits))}, {}
        for _, i in ipairs(left) do
          words[i] = bit.band(words[i], bit.bnot(heard[i]))
          if words[i] ~= 0 then still[#still + 1] = i end
        end
        left = still
      end
    end
  end
  return words, left
end

local cuts = 0
local function remove(from, to)
  local n = call('ZREMRANGEBYSCORE', QUEUE, from, to)
  waiting, removed, cuts = waiting - n, removed + n, cuts + 1
  add(SWEPT, n)
  mark(from, to, 0)
  keep(from, to)
end

-- remove_returners removes silent returners, whose orders are not kept again, and says
-- whether there may be more.
local function remove_returners()
  if returning == 0 then return false end
  local late = call('ZRANGEBYSCORE', RETURNERS_SEEN, '-inf', '(' .. now - grace, 'LIMIT', 0, 100)
  if #late == 0 then return false end
  local n = call('ZREM', RETURNERS, spread(late))
  call('ZREM', RETURNERS_SEEN, spread(late))
  returning, removed = returning - n, removed + n
  add(SWEPT, n)
  return #late == 100
end

-- sweep removes the dead of n blocks, and returns whether it could remove them all.
-- A cut costs as much as removing another.
local function sweep(block, n)
  local words, left = dead(block, n)
  local from, to
  for _, i in ipairs(left) do
    for j = 0, 31 do
      if bit.band(words[i], bit.lshift(1, 31 - j)) ~= 0 then
        local order = block * BLOCK + (i - 1) * 32 + j
        if to and to + 1 == order and removed + cuts + to - from + 2 < most then
          to = order
        else
          if from then remove(from, to) end
          if removed + cuts >= most then return false end
          from, to = order, order
        end
      end
    end
  end
  if from then remove(from, to) end
  return removed + cuts < most
end

if next == 0 then
  if room[SWEPT_AT] > 0 and now >= room[SWEPT_AT] and now - room[SWEPT_AT] < every then
    done = 1
    return finish()
  end
  room[SWEPT_AT], changed = now, true
  clean(100)
  tidy_slots()
  tidy_versions()
  if waiting + returning + entitled > 0 or call('ZCARD', ACTIVE) > 0 then
    room[EMPTY_AT] = 0
  elseif room[EMPTY_AT] == 0 then
    room[EMPTY_AT] = now
  elseif now - room[EMPTY_AT] >= every then
    forget = 1
  end
end

if room[HELD] > now then
  done = 1
  return finish()
end
local more = remove_returners()
while blocks > 0 do
  local found = call('ZRANGEBYSCORE', QUEUE, next * BLOCK, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not found[2] then
    done = 1
    break
  end
  local block = floor(found[2] / BLOCK)
  local n = min(blocks, 16, SEGMENT / BLOCK - block % (SEGMENT / BLOCK))
  next, blocks = block, blocks - n
  if not sweep(block, n) then break end
  next = block + n
end
if more then done = 0 end
return finish()
