package memqueue

import (
	"maps"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// copiedFigures are the figures, for use without the store's lock. Samples do not change:
// a later one of a minute replaces them.
func (s *store) copiedFigures() map[string]map[int64]driver.Sample {
	copies := make(map[string]map[int64]driver.Sample, len(s.figures))
	for event, minutes := range s.figures {
		copies[event] = maps.Clone(minutes)
	}
	return copies
}

// figures are the samples of each event. Their times are those of the calendar, and do not
// move with a restart.
func (c *coder) figures(of map[string]map[int64]driver.Sample) {
	for event := range list(c, slices.Sorted(maps.Keys(of))) {
		c.name(&event, maxOrder)
		minutes := of[event]
		if c.to == nil {
			minutes = map[int64]driver.Sample{}
			of[event] = minutes
		}
		for minute := range list(c, slices.Sorted(maps.Keys(minutes))) {
			var one driver.Sample
			if c.to != nil {
				one = minutes[minute]
			}
			c.sample(&one)
			minutes[one.Minute] = one
		}
	}
}

func (c *coder) sample(s *driver.Sample) {
	c.count(&s.Minute)
	epoch := int64(s.Epoch) //nolint:gosec // less than 2^53
	c.num(&epoch)
	s.Epoch = uint64(max(0, epoch))
	stock, known := int64(0), s.Stock != nil
	if known {
		stock = int64(*s.Stock)
	}
	waiting, entitled, active, returning := int64(s.Waiting), int64(s.Entitled), int64(s.Active), int64(s.Returning)
	for _, v := range []*int64{&s.Joined, &s.Entered, &s.NoShows, &s.Returned, &s.Laned, &waiting, &entitled, &active, &returning, &stock} {
		c.count(v)
	}
	c.num(&s.Highest)
	c.flag(&known)
	s.Waiting, s.Entitled, s.Active, s.Returning = int(waiting), int(entitled), int(active), int(returning)
	if c.to == nil && known {
		left := int(stock)
		s.Stock = &left
	}
	buckets := slices.Sorted(maps.Keys(s.Waits))
	if c.to == nil {
		s.Waits = map[int]int64{}
	}
	for bucket := range list(c, buckets) {
		number, users := int64(bucket), s.Waits[bucket]
		c.count(&number)
		c.count(&users)
		if c.to == nil {
			s.Waits[int(number)] = users
		}
	}
}
