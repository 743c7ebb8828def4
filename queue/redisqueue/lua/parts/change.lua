-- Carries out an operator's change.
-- KEYS as in room.lua
-- ARGV[1] as in room.lua, then packed doubles: threshold and paused (-1 changes
--   nothing), clear (1 or 0), gate (-1 changes nothing, 0 off, 1 on), positions, version
--   of the settings that threshold and paused are of (-1: of none), when the room opens in
--   ms (-1 changes nothing, 0: no opening), whether its draw was held, how many users
--   the event can serve (-2 changes nothing, -1: not known), whether ARGV[2] has shares,
--   whether newcomers are challenged (-1: not set), and how many users had left when it was
--   asked how many the event can serve (-1: those that have left by now), and of which epoch
-- ARGV[2] shares of lanes, as in settings.lua
-- KEYS[seen_at] draw, and the next leaves: as in draw.lua
-- returns packed doubles as in state() of room.lua
-- Cost: nothing that grows; cleared keys are freed in the background.
local new_threshold, paused, clear, gate, positions, new_version, opens_at, opened, new_stock, has_shares, new_challenge, gone, gone_of = unpack('<ddddddddddddd', ARGV[1], rest)
open()
clean(50)
if clear == 1 then
  call('UNLINK', QUEUE, WAITING, VERSIONS, ACTIVE, HEARD, RESERVED, ENTRY, MISSED, TURNS, spread(KEYS, 17, LANE + lane_count))
  credits, credits_changed = nil, false
  room[EPOCH], room[STARTED], room[SETTLED], room[FLOOR] = new_epoch, now, 0, room[HIGHEST]
  raise(clock - 1)
  forget_stays()
  if phase > 0 then
    if phase == OPENED then opens = 0 end
    phase = 0
    call('UNLINK', KEYS[seen_at], KEYS[seen_at + 1])
    write_settings()
  end
  -- The bitmap begins again, with a slot that has none of its bits in those of the
  -- minutes.
  room[BASE] = room[NEXT]
  room[VERSION] = room[VERSION] + 1
  room[OLDEST] = room[VERSION]
  for i = JOINED, SWEPT do room[i] = 0 end
  room[TICK], room[TAKEN], room[RATE_LAST] = 0, 0, 0
  changed = true
  count()
end
if new_version >= 0 then
  if new_version < set_version then
    new_threshold, paused, opens_at, new_challenge = -1, -1, -1, -1
  else
    if opens_at >= 0 and phase == 0 then
      opens = opens_at
      if opened == 1 then phase = OPENED end
    end
    if set_version == CLOSED and paused < 0 then paused = was_paused end
    if has_shares == 1 then take_shares(ARGV[2]) end
    is_set, set_version, challenge = true, new_version, new_challenge
    write_settings()
  end
end
if new_challenge >= 0 and new_version < 0 then
  challenge = new_challenge
  write_settings()
end
if new_threshold >= 0 then
  threshold = new_threshold
  call('SET', THRESHOLD, format('%.0f', threshold))
end
if paused >= 0 then room[PAUSED], fresh, changed = paused, true, true end
if gate == 1 and room[GATE] ~= 1 then
  room[GATE], room[GATEBASE], fresh, changed = 1, room[HIGHEST] - positions, true, true
elseif gate == 0 and room[GATE] == 1 then
  raise(room[GATEBASE] + positions)
  room[GATE], fresh, changed = 2, true, true
end
if new_stock >= -1 then
  if stock == 0 then sold_out_at = clock end
  stock, stock_at = new_stock, clock
end
if new_stock >= -1 or (clear == 1 and stock_at > 0) then
  stock_base = active - room[ENTERED]
  -- A higher number is from before a loss. In another epoch all have left since.
  if new_stock >= -1 and gone >= 0 then stock_base = max(stock_base, gone_of == room[EPOCH] and -gone or 0) end
  call('SET', STOCK, pack('<dddd', stock, stock_at, stock_base, sold_out_at), 'PX', 24 * RENEWAL + max(grace, RENEWAL))
end
local answer = state()
close()
return answer
