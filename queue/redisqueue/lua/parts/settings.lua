-- Follows room.lua: which version of the operators' settings the room has. KEYS[15] has
-- packed doubles: the version, CLOSED until there is one; whether the room was paused
-- before it was closed. It lives as long as the room. Without it the room is new, or was
-- kept by a release that wrote none, and is closed where the caller says so.
local CLOSED = -1

local function write_settings()
  call('SET', SETTINGS, pack('<dd', set_version, was_paused))
  fresh, changed = true, true
end

function read_settings(text)
  if text and #text >= 16 then
    set_version, was_paused = unpack('<dd', text)
  elseif guarded == 1 then
    set_version, was_paused, room[PAUSED] = CLOSED, room[PAUSED], 1
    write_settings()
  end
end
