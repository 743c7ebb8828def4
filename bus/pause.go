package bus

import "time"

// pause is the state of a subscription whose consumer found a dependency down. The first message
// that fails with an infrastructure error begins it; the first probe with another outcome ends
// it. In a pause only probes are handed out, one at a time, each after a longer wait. Every
// other message waits, and none becomes a dead letter.
//
// Probes alternate between another key and a key that failed. If a probe of another key
// succeeds, the fault may be in the failed messages: they are suspects from then on, see
// suspect. A probe that the transport took back has no result, nor has one whose type has no
// handler, nor one of another key that is obsolete: the next message takes its place.
type pause struct {
	on      bool
	since   time.Time
	until   time.Time // when the next probe may go out
	probe   *delivery // the probe that is out
	attempt int       // 1, and one more for each probe that failed
	another bool      // a probe of a key that had not failed did fail
}

const (
	// A suspect's failures count once this number of windows of messages has passed it since it
	// was first tried, or after suspectTime.
	suspectWindows = 20
	suspectTime    = 15 * time.Minute
)

// suspect marks the messages in waiting lanes that failed with an infrastructure error while
// other messages succeed. From then on, the failures of a suspect do not pause the consumer:
// only its key waits, with the backoff of a pause. In the end they count as transient, and the
// message becomes a dead letter.
func (s *subscription) suspect() {
	now := time.Now()
	for _, ln := range s.lanes.waiting {
		for _, d := range ln.queue {
			if !d.blamed {
				break
			}
			d.alone = true
			if d.suspect.IsZero() {
				d.suspect = now
			}
		}
	}
}

// condemned reports whether the failures of a message that is handed out now count.
func (s *subscription) condemned(d *delivery, now time.Time) bool {
	passed := s.finished - d.before
	return !d.suspect.IsZero() && !s.pause.on && (passed >= int64(suspectWindows*s.dispatcher.cfg.Window) || now.Sub(d.suspect) >= suspectTime)
}

// spare makes a suspect that failed with an infrastructure error wait with its key alone, unless
// the consumer is paused.
func (s *subscription) spare(d *delivery) bool {
	if d.verdict != pauseAll || d.suspect.IsZero() || s.pause.on {
		return false
	}
	c := s.dispatcher.consumer
	d.verdict, d.delay = retryLater, c.retry.Probe.Delay(d.pauses)
	c.stillDown(d, d.delay)
	return true
}

// postpone makes the busy lane of d, which is not done, wait as the verdict says.
func (s *subscription) postpone(d *delivery, paused bool) {
	switch {
	case (d.verdict == pauseAll || d.verdict == afterPause) && paused:
		s.lanes.wait(d)
	case d.verdict == pauseAll, d.verdict == afterPause, d.verdict == retryLater && d.delay <= 0:
		s.lanes.enlist(d.lane)
	case d.verdict == retryLater:
		s.lanes.park(d, time.Now().Add(d.delay))
	default:
		d.nacks++
		s.lanes.park(d, time.Now().Add(s.dispatcher.cfg.Redelivery.Delay(d.nacks)))
	}
}

// paused begins the pause, or prolongs it when d was its probe. another reports whether d had not
// failed before.
func (s *subscription) paused(d *delivery, probe, another bool) {
	now, c := time.Now(), s.dispatcher.consumer
	switch {
	case !s.pause.on:
		delay := c.retry.Probe.Delay(1)
		s.pause = pause{on: true, since: now, until: now.Add(delay), attempt: 1}
		c.paused.Store(true)
		c.pauseBegan(d.err, delay)
	case probe:
		s.pause.attempt++
		s.pause.another = s.pause.another || another
		delay := c.retry.Probe.Delay(s.pause.attempt)
		s.pause.until = now.Add(delay)
		c.stillDown(d, delay)
	}
}

// nextProbe returns the message that may be tried now, or nil. It alternates between a key that
// has not failed and one that has. If there was no other key so far, the first message of
// another key is tried at once.
func (s *subscription) nextProbe(now time.Time) *delivery {
	switch {
	case s.pause.probe != nil:
		return nil
	case !now.Before(s.pause.until):
		return s.lanes.nextProbe(s.pause.attempt%2 == 1)
	case s.pause.attempt > 1 && !s.pause.another:
		return s.lanes.next()
	}
	return nil
}

// resume ends the pause after its probe d, unless d has no result: all waiting messages are
// handed out at once. The failed messages become suspects if d was handled and had not failed
// before.
func (s *subscription) resume(d *delivery, another bool) {
	if d.skipped() && (another || d.ignored != "") {
		return
	}
	since := s.pause.since
	if another && d.verdict == done && d.letter == nil {
		s.suspect()
	}
	s.pause = pause{}
	s.epoch++
	s.lanes.release()
	s.dispatcher.consumer.paused.Store(false)
	s.dispatcher.consumer.pauseEnded(time.Since(since))
}
