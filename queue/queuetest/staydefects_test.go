package queuetest_test

import (
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// counted has a defect in the stays that visits and admissions tell.
func counted(spoil func(b *backend, s *driver.State)) hooks {
	spoiled := func(b *backend, s *driver.State) {
		if s.Stays == nil {
			return
		}
		stays := *s.Stays
		s.Stays = &stays
		spoil(b, s)
	}
	return hooks{
		visit: func(b *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			got, err := c.visit(beats, visits...)
			spoiled(b, &got.State)
			return got, err
		},
		admit: func(b *backend, c call) (driver.Admission, error) {
			got, err := c.admit()
			spoiled(b, &got.State)
			return got, err
		},
	}
}

func stayDefects() []defect {
	return []defect{
		{"counts no stays", []string{"stays-are-counted"}, counted(func(_ *backend, s *driver.State) { s.Stays = nil })},
		{"counts whose turn has come as inside", []string{"stays-are-counted", "random-walks"}, counted(func(_ *backend, s *driver.State) {
			if s.Entitled > 0 {
				s.Stays.Inside = append([]driver.Cohort{{Users: s.Entitled}}, s.Stays.Inside...)
			}
		})},
		{"tells no ages", []string{"stays-are-counted"}, counted(func(_ *backend, s *driver.State) {
			for i := range s.Stays.Inside {
				s.Stays.Inside[i].Age = 0
			}
		})},
		{"tells the youngest first", []string{"stays-are-counted"}, counted(func(_ *backend, s *driver.State) {
			for i, j := 0, len(s.Stays.Inside)-1; i < j; i, j = i+1, j-1 {
				s.Stays.Inside[i], s.Stays.Inside[j] = s.Stays.Inside[j], s.Stays.Inside[i]
			}
		})},
		{"does not count whose time was over", []string{"stays-are-counted"}, counted(func(_ *backend, s *driver.State) {
			s.Stays.Ended[driver.StayBucket(10*time.Minute)] = 0
		})},
		{"does not count who comes in time", []string{"stays-are-counted"}, counted(func(_ *backend, s *driver.State) { s.Stays.Came = 0 })},
		{"does not tell the pace of the rules", []string{"stays-are-counted"}, counted(func(_ *backend, s *driver.State) { s.Stays.Batch++ })},
		{"counts stays for ever", []string{"stays-begin-anew"}, counted(func(_ *backend, s *driver.State) {
			s.Stays.Ended[0] = s.Departed
		})},
		{"keeps the stays when cleared", []string{"stays-are-counted"}, counted(func(b *backend, s *driver.State) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.notes[""] = max(b.notes[""], s.Entered); s.Entered == 0 {
				s.Stays.Ended[0] = b.notes[""]
			}
		})},
	}
}
