-- Removes old messages that every group of the stream has done.
-- KEYS[1] the stream
-- ARGV[1] messages from this millisecond on stay
-- ARGV[2] how many to remove at most, in whole nodes of the stream; 0: all, exactly
-- Returns how many were removed.
local function field(list, name)
  for i = 1, #list, 2 do
    if list[i] == name then
      return list[i + 1]
    end
  end
end

local function split(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function earlier(a, b)
  local am, as = split(a)
  local bm, bs = split(b)
  return am < bm or (am == bm and as < bs)
end

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
-- The newest message that is done stays: it is the first one not removed.
local keep = ARGV[1] .. '-0'
for _, g in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local done = field(g, 'last-delivered-id')
  if field(g, 'pending') > 0 then
    done = redis.call('XPENDING', KEYS[1], field(g, 'name'))[2]
  end
  if earlier(done, keep) then
    keep = done
  end
end
if ARGV[2] == '0' then
  return redis.call('XTRIM', KEYS[1], 'MINID', '=', keep)
end
return redis.call('XTRIM', KEYS[1], 'MINID', '~', keep, 'LIMIT', ARGV[2])
