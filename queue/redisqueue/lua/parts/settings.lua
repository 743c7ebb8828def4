-- Follows room.lua: which of the operators' settings the room has. KEYS[16] has packed
-- doubles: their version, CLOSED until there is one; whether the room was paused before it
-- was closed; when it opens, in ms, or 0; the phase of its draw (0 gathering, 1 frozen,
-- 2 rooted, 3 seeded, 4 opened). Then come the shares of lanes that operators have set: for
-- each the length of its name, the name, and the share. It lives as long as the room. Without
-- it the room is new, or was kept by a release that wrote none, and is closed where the caller
-- says so.
local CLOSED, FREEZES = -1, 5000

local function write_settings()
  call('SET', SETTINGS, pack('<dddd', set_version, was_paused, opens, phase) .. set_shares)
  fresh, changed = true, true
end

-- take_shares has shares of operators hold in place of those of the rules.
local function take_shares(text)
  local by_name, at = {}, 1
  while at <= #text do
    local name, share
    name, share, at = unpack('<Hc0d', text, at)
    by_name[name] = share
  end
  set_shares, lane_shares = text, {}
  for k = 1, lane_count do lane_shares[k] = by_name[string.match(KEYS[LANE + k], '[^:]*$')] or shares[k] end
end

function read_settings(text)
  if text and #text >= 32 then
    set_version, was_paused, opens, phase = unpack('<dddd', text)
    if #text > 32 then take_shares(string.sub(text, 33)) end
  elseif guarded == 1 then
    set_version, was_paused, room[PAUSED] = CLOSED, room[PAUSED], 1
    write_settings()
  end
end
