package memqueue

import (
	"github.com/millrace-go/millrace/queue/driver"
)

func (m *room) admit(now int64, r driver.Rules) driver.Admission {
	tick := r.Tick.Microseconds()
	if now-m.tick >= tick || now < m.tick {
		m.tick, m.admitted = now, 0
	}
	// Of the silent, as many more as there are may be silent.
	may := func() int {
		free := m.open(now, r) - len(m.turns.takers)
		if free <= 0 {
			return 0
		}
		return max(0, min(free+len(m.turns.silent), r.Batch-m.admitted, m.line.waiting+len(m.returners.ordered)))
	}
	n := min(may(), driver.MaxChunk)
	var let []driver.Admitted
	for range n {
		one, of := m.next(r)
		m.begin(one, of, now, r)
		let = append(let, one)
	}
	m.admitted += n
	return driver.Admission{
		State: m.state(now, r), Admitted: let, More: may() > 0, Next: span(m.tick + tick - now),
	}
}
