-- Says how far a group is behind on a partition.
-- KEYS[1] the stream
-- ARGV[1] the group
-- Returns {lag, pending, id, oldest}: messages after the group's place (-1 when
-- Redis cannot tell without counting), messages that a consumer of XREADGROUP
-- has not acknowledged, the place, and the id of the oldest message that is not
-- done ('' when there is none); or {} when there is no such group.
local function field(list, name)
  for i = 1, #list, 2 do
    if list[i] == name then
      return list[i + 1]
    end
  end
end

if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
for _, g in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  if field(g, 'name') == ARGV[1] then
    local id, pending, oldest = field(g, 'last-delivered-id'), field(g, 'pending'), ''
    if pending > 0 then
      oldest = redis.call('XPENDING', KEYS[1], ARGV[1])[2]
    else
      local first = redis.call('XRANGE', KEYS[1], '(' .. id, '+', 'COUNT', 1)[1]
      if first then
        oldest = first[1]
      end
    end
    return { field(g, 'lag') or -1, pending, id, oldest }
  end
end
return {}
