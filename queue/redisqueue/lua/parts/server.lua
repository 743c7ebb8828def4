-- Follows bits.lua: takes over facts that callers know, and that its server may have lost.
-- raise has the room go on above an order, which it did not give out itself.
local function raise(order)
  if order <= room[HIGHEST] then return end
  if room[SOLID] <= room[HIGHEST] then
    call('ZADD', RUNS, room[HIGHEST], room[SOLID])
    fresh = true
  end
  room[HIGHEST], room[SOLID], changed = order, order + 1, true
end

-- moved is for another server than that of the last call, or a new start of it: its
-- data may be older than earlier answers. Orders go on above those that may have been
-- given out since, and a version may come again for something else: so all looks
-- begin again, above all there was. The id is new at each start of a master and each
-- promotion; it is 0 where the server does not show it.
local LEAP = 1048576
local function moved()
  local id = string.match(call('INFO', 'replication'), 'master_replid:(%x%x%x%x%x%x%x%x%x%x%x%x)')
  id = id and tonumber(id, 16) or 0
  if id == room[SERVER] then return end
  if room[SERVER] > 0 and room[HIGHEST] < MOST - LEAP then raise(room[HIGHEST] + LEAP) end
  room[SERVER] = id
  add(VERSION, 2 ^ 32)
  room[OLDEST] = room[VERSION]
  for _, block in ipairs(call('ZRANGE', VERSIONS, 0, -1)) do stamped[tonumber(block)] = true end
  stamp_all()
end
