package pulse_test

import (
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/pulse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A subscriber handles everything that was announced before a Wake, as the relay does with rows;
// if one signal were lost the test would hang.
func TestNobodyMissesAWake(t *testing.T) {
	const rounds, subscribers = 2000, 4
	p := pulse.New()
	var mu sync.Mutex
	state := 0
	var wg sync.WaitGroup
	for range subscribers {
		woken, cancel := p.Subscribe()
		wg.Go(func() {
			defer cancel()
			for seen := 0; seen < rounds; {
				<-woken
				mu.Lock()
				seen = state
				mu.Unlock()
			}
		})
	}
	for range rounds {
		mu.Lock()
		state++
		mu.Unlock()
		p.Wake()
	}
	wg.Wait()
}

func TestWakesCoalesce(t *testing.T) {
	p := pulse.New()
	woken, cancel := p.Subscribe()
	defer cancel()
	late := make(chan (<-chan struct{}), 1)
	for range 3 {
		p.Wake()
	}
	c, cancelLate := p.Subscribe()
	defer cancelLate()
	late <- c
	if n := drain(woken); n != 1 {
		t.Errorf("three wakes gave %d signals, want 1", n)
	}
	if n := drain(<-late); n != 0 {
		t.Errorf("a later subscriber got %d signals, want 0", n)
	}
	p.Wake()
	if n := drain(woken); n != 1 {
		t.Errorf("a wake after the drain gave %d signals, want 1", n)
	}
}

func TestCancel(t *testing.T) {
	p := pulse.New()
	woken, cancel := p.Subscribe()
	p.Wake()
	cancel()
	p.Wake()
	if n := drain(woken); n != 0 {
		t.Errorf("a cancelled subscription got %d signals", n)
	}
	cancel() // twice is harmless
}

func drain(c <-chan struct{}) (n int) {
	for {
		select {
		case <-c:
			n++
		default:
			return n
		}
	}
}

func ExampleNew() {
	p := pulse.New()
	woken, cancel := p.Subscribe()
	defer cancel()
	p.Wake()
	p.Wake()
	<-woken
	fmt.Println("awake, signals left:", len(woken))
	// Output: awake, signals left: 0
}
