package outbox

import "time"

// A batch should be published within this time, so that a lease is settled
// often and a crash repeats little.
const batchTime = 500 * time.Millisecond

// pace adapts the size of batches to the load: it grows fourfold while
// batches come back full and are published quickly, and halves when they are
// slow or small.
type pace struct {
	limit, least, most, bytes int
}

func newPace(c RelayConfig) pace {
	return pace{limit: c.MinBatch, least: c.MinBatch, most: c.MaxBatch, bytes: c.MaxBatchBytes}
}

func (p *pace) idle() { p.limit = p.least }

// after takes in a finished batch.
func (p *pace) after(items []Item, full bool, took time.Duration) {
	switch {
	case took > batchTime:
		p.limit /= 2
	case full && took < batchTime/2:
		p.limit *= 4
	case len(items) < p.limit/4:
		p.limit /= 2
	}
	floor, size := p.least, 0
	for i := range items {
		size += len(items[i].Payload)
	}
	if size > 0 {
		fit := max(1, p.bytes*len(items)/size)
		floor, p.limit = min(floor, fit), min(p.limit, fit)
	}
	p.limit = min(max(p.limit, floor), p.most)
}
