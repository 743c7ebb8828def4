package outbox

import "github.com/millrace-go/millrace/outbox/driver"

// judge decides about each event that failed in this round. It returns how many there were, and
// whether one of them shows that the publisher works.
func (s *shard) judge(rd *round, seen int64, settlement *driver.Settlement) (tried int, works bool) {
	w := rd.w
	for i := range w.lanes {
		for _, f := range w.lanes[i].failing {
			if f.tried {
				tried++
				works = works || f.others
			}
		}
	}
	if tried == 0 {
		return 0, false
	}
	rd.tries = make(map[*driver.Item]attempt, tried)
	room := s.r.cfg.MaxAside - s.aside.total - len(settlement.Failures)
	for i := range w.lanes {
		l := &w.lanes[i]
		keep := l.failing[:0]
		for _, f := range l.failing {
			if !f.tried {
				keep = append(keep, f)
				continue
			}
			f.tried = false
			if rd.first == nil && !f.last.told {
				rd.first = f
			}
			it := &w.items[f.item]
			it.Attempts, it.Retries, it.Age = it.Attempts+1, f.retries, f.age
			it.FailedSince = earliest(it.FailedSince, f.at)
			f.last = attempt{at: f.at, seen: seen, blamed: f.others, told: f.last.told, retries: it.Retries, since: it.FailedSince, refused: f.refused}
			wait := s.r.retry.Delay(it.Attempts)
			if f.others && s.r.cfg.MaxAge >= 0 {
				wait = min(wait, max(s.r.cfg.MaxAge-f.age, s.r.retry.Delay(1))) // so that the last attempt is not late
			}
			f.due = f.at.Add(wait)
			s.r.cfg.Hooks.Failed(s.id, it.Topic, it.Attempts, f.err)

			failure := driver.Failure{Item: it, State: driver.Held, Attempts: it.Attempts, Retries: it.Retries, Age: it.Age, Wait: wait, Error: f.err.Error()}
			var followers []int32
			switch {
			case f.spent:
				failure.State = driver.Parked // logged once this is stored
			case w.aside:
				failure.State = driver.MovedAside
			case s.r.cfg.Ordering == ByKey && (f.others || (!s.stalled && tried <= slowFailures)):
				if followers = w.followers(f.item); len(followers) < room {
					failure.State = driver.MovedAside
					room -= 1 + len(followers)
				} else {
					followers = nil
				}
			}
			if failure.State != driver.Parked {
				s.tell(it, f, wait)
			}
			rd.tries[it] = f.last
			w.state[f.item] = failure.State
			settlement.Failures = append(settlement.Failures, failure)
			if failure.State == driver.Held {
				keep = append(keep, f)
				continue
			}
			delete(l.blocked, it.Key)
			for _, i := range followers {
				w.state[i] = driver.MovedAside
				settlement.Failures = append(settlement.Failures, driver.Failure{Item: &w.items[i], State: driver.MovedAside})
			}
		}
		clear(l.failing[len(keep):])
		l.failing = keep
	}
	w.spare = w.waiting(w.spare)
	return tried, works
}

// followers returns the later items of the same key.
func (w *work) followers(item int32) []int32 {
	var out []int32
	for i := item + 1; int(i) < len(w.items); i++ {
		if w.state[i] == driver.Waiting && w.items[i].Key == w.items[item].Key {
			out = append(out, i)
		}
	}
	return out
}

func (w *work) waiting(items []int32) []int32 {
	keep := items[:0]
	for _, i := range items {
		if w.state[i] == driver.Waiting {
			keep = append(keep, i)
		}
	}
	return keep
}
