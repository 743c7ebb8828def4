-- Follows room.lua: which of the operators' settings the room has. KEYS[16] has packed
-- doubles: their version, CLOSED until there is one; whether the room was paused before it
-- was closed; when it opens, in ms, or 0; the phase of its draw (0 gathering, 1 frozen,
-- 2 rooted, 3 seeded, 4 opened). It lives as long as the room. Without it the room is new,
-- or was kept by a release that wrote none, and is closed where the caller says so.
local CLOSED, FREEZES = -1, 5000

local function write_settings()
  call('SET', SETTINGS, pack('<dddd', set_version, was_paused, opens, phase))
  fresh, changed = true, true
end

function read_settings(text)
  if text and #text >= 32 then
    set_version, was_paused, opens, phase = unpack('<dddd', text)
  elseif guarded == 1 then
    set_version, was_paused, room[PAUSED] = CLOSED, room[PAUSED], 1
    write_settings()
  end
end
