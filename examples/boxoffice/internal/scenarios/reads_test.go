package scenarios

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// waits are how long readers waited: by the bubble's time, in which only a wait
// for something counts, and in real time.
type waits struct {
	mu            sync.Mutex
	virtual, real []time.Duration
}

// read reads artists, one id after the other, perSecond a second, for a time.
func (w *town) read(t *testing.T, from, perSecond int, span time.Duration) *waits {
	t.Helper()
	all := &waits{}
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range int(span * time.Duration(perSecond) / time.Second) {
		<-tick.C
		readers.Go(func() { all.get(t, w.mirror, strconv.Itoa(from+i)) })
	}
	return all
}

func (a *waits) get(t *testing.T, m *artist.Mirror, id string) {
	began, really := time.Now(), boottime.Now()
	_, err := m.Get(t.Context(), id)
	check(t, "read "+id, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.virtual, a.real = append(a.virtual, time.Since(began)), append(a.real, boottime.Now()-really)
}

// atOnce fails when a reader in twenty waited for something.
func (a *waits) atOnce(t *testing.T, bound time.Duration) {
	t.Helper()
	if p := p95(a.virtual); p >= bound {
		t.Errorf("p95 of %d reads is %v, want less than %v", len(a.virtual), p, bound)
	}
	t.Logf("%d reads: p95 %v in real time", len(a.real), p95(a.real))
}

func p95(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)*95/100]
}
