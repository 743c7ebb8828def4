package bus

import "slices"

// byLane splits a batch into its lanes, which are contiguous in it.
func byLane(deliveries []*delivery) [][]*delivery {
	var all [][]*delivery
	for from, i := 0, 1; i <= len(deliveries); i++ {
		if i == len(deliveries) || deliveries[i].lane != deliveries[from].lane {
			all = append(all, deliveries[from:i])
			from = i
		}
	}
	return all
}

// gather returns up to size messages for one batch, in the order of the ready lanes. It takes
// all messages of a lane, so a busy key can fill a batch alone. A message that has to be alone
// is a batch of its own.
func (l *lanes) gather(size int) []*delivery {
	var taken []*delivery
	for _, ln := range l.ready {
		if ln.queue[0].solo() {
			if len(taken) == 0 {
				return []*delivery{ln.queue[0]}
			}
			continue // it is handed out when its lane is first
		}
		for _, d := range ln.queue {
			if d.solo() {
				break
			}
			if taken = append(taken, d); len(taken) == size {
				return taken
			}
		}
	}
	return taken
}

// takeAll makes the lanes of a batch busy.
func (l *lanes) takeAll(deliveries []*delivery) {
	ready := 0
	for _, taken := range byLane(deliveries) {
		ln := taken[0].lane
		if ln.ready {
			l.unmark(ln)
			ready++
			continue
		}
		l.waiting = shift(l.waiting) // it was a probe
	}
	if ready > 0 {
		l.ready = slices.DeleteFunc(l.ready, func(ln *lane) bool { return !ln.ready })
	}
}

// keep removes those of the first messages of a busy lane for which keep returns false, and
// returns the first message that remains.
func (l *lanes) keep(taken []*delivery, keep func(*delivery) bool) (head *delivery) {
	queue := taken[0].lane.queue
	at := len(taken)
	for i := len(taken) - 1; i >= 0; i-- {
		if keep(taken[i]) {
			at--
			queue[at] = taken[i]
			head = taken[i]
		}
	}
	clear(queue[:at])
	taken[0].lane.queue = queue[at:]
	l.held -= at
	return head
}

// remove removes one message from a lane that is ready or waiting.
func (l *lanes) remove(d *delivery) {
	ln := d.lane
	ln.queue = slices.DeleteFunc(ln.queue, func(other *delivery) bool { return other == d })
	l.held--
	if ln.ready {
		l.available--
	}
	if len(ln.queue) > 0 {
		return
	}
	gone := func(other *lane) bool { return other == ln }
	l.ready, l.waiting = slices.DeleteFunc(l.ready, gone), slices.DeleteFunc(l.waiting, gone)
	l.forget(ln)
}

func (l *lanes) forget(ln *lane) { delete(l.byKey, ln.key) }
