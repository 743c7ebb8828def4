-- Lists the live members of a group in the order they joined.
-- KEYS[1] the members: a hash of id to "joined until", in microseconds
-- Returns their ids.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local all, joined = redis.call('HGETALL', KEYS[1]), {}
local live = {}
for i = 1, #all, 2 do
  local since, til = string.match(all[i + 1], '^(%d+) (%d+)$')
  if tonumber(til) > now then
    live[#live + 1] = all[i]
    joined[all[i]] = tonumber(since)
  end
end
table.sort(live, function(a, b)
  if joined[a] ~= joined[b] then
    return joined[a] < joined[b]
  end
  return a < b
end)
return live
