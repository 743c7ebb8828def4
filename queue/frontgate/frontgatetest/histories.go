package frontgatetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// randomHistories plays the same histories each time, on the store and on a model
// that has one line of code for each rule.
func randomHistories(p player) {
	const histories, length = 4, 60
	for seed := range uint64(histories) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := p.of(fmt.Sprintf("history-%d", seed))
		var model driver.State
		var now, last time.Duration
		made := false // a round, since the counters began
		for step := range length {
			steps.Within(fmt.Sprintf("history %d, step %d", seed, step), func() {
				by, q := int64(1+random.IntN(8)), p
				if random.IntN(2) == 1 {
					q = p.peer()
				}
				var got driver.State
				var what string
				switch random.IntN(10) {
				case 0, 1, 2, 3:
					what = fmt.Sprintf("assign %d", by)
					if model.On {
						model.Assigned += by
					}
					got = q.take(int(by))
				case 4, 5:
					what = fmt.Sprintf("advance %d", by)
					if model.On && (!made || now-last >= every) {
						made, last = true, now
						model.Serving = min(model.Serving+by, model.Assigned)
					}
					got = q.advance(by, every).State
				case 6:
					what = fmt.Sprintf("advance %d at once", by)
					if model.On {
						model.Serving = min(model.Serving+by, model.Assigned)
					}
					got = q.advance(by, 0).State
				case 7:
					on := random.IntN(3) > 0
					what = fmt.Sprintf("switch %t", on)
					switch {
					case on && !model.On:
						model.On, model.Opened = true, model.Assigned
					case !on && model.On:
						model.On, model.Serving = false, model.Assigned
					}
					got = q.turn(on)
				default:
					d := time.Duration(random.IntN(12)) * time.Second
					what, now = fmt.Sprintf("%s pass", d), now+d
					p.h.Move(d)
					got = q.state()
				}
				// The epoch begins when the gate is first switched on, and stays.
				if model.Epoch == 0 && model.On {
					model.Epoch = got.Epoch
				}
				if !same(got, model) || model.On && model.Epoch == 0 {
					steps.Fail("%s: the answer is %+v, want %+v", what, got, model)
				}
			})
		}
	}
}
