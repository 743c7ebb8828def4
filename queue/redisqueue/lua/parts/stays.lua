-- Follows room.lua: how long users stay inside, in a fixed number of counts. KEYS[14]
-- has packed doubles: the rules by which a user came in last, as in ARGV[1]: active,
-- no-show, tick and batch; the span of a cohort in ms and the number of the newest;
-- ms, from when on the ended stays are counted, and recounted; users of the line that
-- came in; for each cohort the users inside and the sum of ms from its beginning to when
-- they came in; then the ended stays, and the recounted ones, by buckets of their length
-- as in queue/driver.StayBucket.
local OF_ACTIVE, OF_MISS, OF_TICK, OF_BATCH, OF_SPAN, OF_NEWEST, OF_SINCE, OF_NEXT, OF_CAME = 1, 2, 3, 4, 5, 6, 7, 8, 9
local OF_INSIDE, OF_ENDED, OF_ANEW, OF_ALL, COHORTS, BUCKETS = 9, 73, 101, 129, 32, 28
local stays, stays_changed

-- told_stays returns how many doubles follow, and those up to the stays that are over;
-- the rules alone where no user has entered.
function told_stays()
  if stays then return pack('<' .. rep('d', OF_ANEW + 1), OF_ANEW, spread(stays, 1, OF_ANEW)) end
  if stays_text and #stays_text == OF_ALL * 8 then return pack('<d', OF_ANEW) .. string.sub(stays_text, 1, OF_ANEW * 8) end
  return pack('<ddddd', 4, stay, no_show, tick, batch)
end

function keep_stays()
  if stays_changed then call('SET', STAYS, pack('<' .. rep('d', OF_ALL), spread(stays)), 'KEEPTTL') end
end

function forget_stays()
  call('UNLINK', STAYS)
  stays, stays_text, stays_changed = nil, nil, false
end
