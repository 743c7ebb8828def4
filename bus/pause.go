package bus

import "time"

// pause is the state of a subscription whose consumer found a dependency down.
// It is entered by the first message that fails for that reason and left by the
// first probe that does not. Between the two only probes are handed out, one at
// a time, each after a longer wait; every other message waits and nothing is
// given up.
type pause struct {
	on      bool
	since   time.Time
	until   time.Time // when the next probe may go out
	probe   *delivery // the probe that is out
	attempt int
}

// paused enters the pause, or prolongs it when d was its probe.
func (s *subscription) paused(d *delivery, probe bool) {
	now, obs := time.Now(), s.dispatcher.observe
	switch {
	case !s.pause.on:
		delay := obs.probe.Delay(1)
		s.pause = pause{on: true, since: now, until: now.Add(delay), attempt: 1}
		s.setPaused(true)
		if obs.paused != nil {
			obs.paused(d.err, delay)
		}
	case probe:
		s.pause.attempt++
		delay := obs.probe.Delay(s.pause.attempt)
		s.pause.until = now.Add(delay)
		if obs.probed != nil {
			obs.probed(d, d.err, delay)
		}
	}
}

// resume leaves the pause: everything that waited is handed out at once.
func (s *subscription) resume() {
	since := s.pause.since
	s.pause = pause{}
	s.epoch++
	s.lanes.release()
	s.setPaused(false)
	if f := s.dispatcher.observe.resumed; f != nil {
		f(time.Since(since))
	}
}

func (s *subscription) setPaused(on bool) {
	s.pausedFlag.Store(on)
	if f := s.dispatcher.observe.isPaused; f != nil {
		f.Store(on)
	}
}
