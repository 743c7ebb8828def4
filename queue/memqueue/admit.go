package memqueue

import "github.com/millrace-go/millrace/queue"

func (m *room) admit(now int64, r queue.Rules) queue.Admission {
	tick := r.Tick.Microseconds()
	if now-m.tick >= tick || now < m.tick {
		m.tick, m.admitted = now, 0
	}
	may := func() int { return min(m.open(now, r), r.Batch-m.admitted, m.line.waiting) }
	n := max(0, min(may(), queue.MaxChunk))
	var let []queue.Admitted
	for range n {
		order := m.line.first()
		user := m.line.at(order).user
		m.line.remove(order)
		delete(m.position, user)
		ends := now + r.NoShow.Microseconds()
		m.inside.add(&guest{user: user, order: order, admitted: now, expires: ends, end: ends})
		let = append(let, queue.Admitted{User: user, Order: order})
	}
	if n > 0 {
		m.admitted += n
		m.entered += int64(n)
		m.rate.add(now, n)
	}
	return queue.Admission{
		State: m.state(now, r), Admitted: let, More: may() > 0, Next: span(m.tick + tick - now),
	}
}
