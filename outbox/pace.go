package outbox

import (
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// batchTime is how long a batch should take to publish at most, so that the lease is renewed
// often and a crash repeats few events.
const batchTime = 500 * time.Millisecond

// pace adapts the size of batches to the load. While batches are full, the size grows towards
// batches of half of batchTime, at most sixteenfold at once. It halves when batches are slow or
// small. A read that took too long halves it at once.
type pace struct {
	limit, least, most, bytes int

	fit     int           // how many events fit into MaxBatchBytes, by the last batch
	cap     int           // the limit since a read took too long; 0 for none
	tooLong time.Duration // how long that read took
}

func newPace(c RelayConfig) pace {
	return pace{limit: c.MinBatch, least: c.MinBatch, most: c.MaxBatch, bytes: c.MaxBatchBytes, fit: c.MaxBatch}
}

// bound bounds the limit n of a read.
func (p *pace) bound(n int) int {
	if p.cap > 0 {
		return min(n, p.cap)
	}
	return n
}

// slow records that a read of limit events took too long. It reports whether a smaller limit is
// possible.
func (p *pace) slow(limit int, took time.Duration) bool {
	p.cap, p.tooLong = max(1, limit/2), max(took, batchTime)
	p.limit = p.bound(p.limit)
	return limit > 1
}

// read records a read of limit events. The bound doubles if a read of twice as many would not
// have taken too long.
func (p *pace) read(items []driver.Item, limit int, took time.Duration) {
	size := 0
	for i := range items {
		size += len(items[i].Payload)
	}
	if size > 0 {
		fit := float64(p.bytes) / float64(size) * float64(len(items)) // an int may overflow
		p.fit = max(1, int(min(fit, float64(p.most))))
	}
	p.limit = min(p.limit, p.fit)
	if p.cap > 0 && len(items) >= p.cap && 2*took < p.tooLong {
		if p.cap *= 2; p.cap >= p.most {
			p.cap = 0
		}
	}
}

func (p *pace) idle() { p.limit = p.bound(min(p.least, p.fit)) }

// after records a finished batch.
func (p *pace) after(n int, full bool, took time.Duration) {
	switch {
	case took > batchTime:
		p.limit /= 2
	case full && took < batchTime/2:
		p.limit = int(min(16, float64(batchTime/2)/float64(max(took, 1))) * float64(p.limit))
	case n < p.limit/4:
		p.limit /= 2
	}
	p.limit = p.bound(min(max(p.limit, p.least), p.fit, p.most))
}
