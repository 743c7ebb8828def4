-- Follows room.lua: which of the operators' settings the room has. KEYS[16] has packed
-- doubles: their version, CLOSED until there is one, UNSET in a room without settings outside;
-- whether the room was paused before it was closed; when it opens, in ms, or 0; the phase of
-- its draw (0 gathering, 1 frozen, 2 rooted, 3 seeded, 4 opened). Then come the shares of lanes
-- that operators have set: for each the length of its name, the name, and the share. The name
-- CHALLENGE, which no lane has, is whether newcomers are challenged (1 or 0; absent: no
-- operator has said so). It lives as long as the room. Without it the room is new, or was kept
-- by a release that wrote none. A room that has no version is closed where the caller says so.
local UNSET, CLOSED, FREEZES, CHALLENGE = -2, -1, 5000, ':challenge'

local function write_settings()
  local flag = challenge >= 0 and pack('<Hc0d', #CHALLENGE, CHALLENGE, challenge) or ''
  call('SET', SETTINGS, pack('<dddd', is_set and set_version or UNSET, was_paused, opens, phase) .. set_shares .. flag)
  fresh, changed = true, true
end

-- take_shares has shares of operators hold in place of those of the rules, and the switch of
-- the challenge, if the text has it at its end.
local function take_shares(text)
  local by_name, at, from = {}, 1, 1
  while at <= #text do
    local name, share
    from = at
    name, share, at = unpack('<Hc0d', text, at)
    by_name[name] = share
  end
  if by_name[CHALLENGE] then challenge, text = by_name[CHALLENGE], string.sub(text, 1, from - 1) end
  set_shares, lane_shares = text, {}
  for k = 1, lane_count do lane_shares[k] = by_name[string.match(KEYS[LANE + k], '[^:]*$')] or shares[k] end
end

function read_settings(text)
  if text and #text >= 32 then
    set_version, was_paused, opens, phase = unpack('<dddd', text)
    if #text > 32 then take_shares(string.sub(text, 33)) end
    is_set = set_version ~= UNSET
    if not is_set then set_version = 0 end
  end
  if guarded == 1 and not is_set then
    is_set, set_version, was_paused, room[PAUSED] = true, CLOSED, room[PAUSED], 1
    write_settings()
  end
end
