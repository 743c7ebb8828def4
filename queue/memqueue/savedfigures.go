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
	stock, known := 0, s.Stock != nil
	if known {
		stock = *s.Stock
	}
	counts(c, &s.Joined, &s.Entered, &s.NoShows, &s.Returned, &s.Laned)
	counts(c, &s.Waiting, &s.Entitled, &s.Active, &s.Returning, &stock)
	c.num(&s.Highest)
	c.flag(&known)
	if c.to == nil && known {
		s.Stock = &stock
	}
	buckets := slices.Sorted(maps.Keys(s.Waits))
	if c.to == nil {
		s.Waits = map[int]int64{}
	}
	for bucket := range list(c, buckets) {
		users := s.Waits[bucket]
		counts(c, &bucket)
		c.count(&users)
		if c.to == nil {
			s.Waits[bucket] = users
		}
	}
}
