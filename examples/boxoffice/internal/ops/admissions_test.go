package ops

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue"
)

func TestAdmissionsAreBounded(t *testing.T) {
	var a admissions
	start := time.Unix(1_772_366_400, 0)
	for i := range 10_000 {
		a.add(queue.State{Epoch: 1, Now: start.Add(time.Duration(i) * time.Second), Entered: int64(i)})
	}
	if n := len(a.samples); n != 126 {
		t.Errorf("of one look each second %d are kept, want those of 125 s", n)
	}
	last := a.samples[len(a.samples)-1].at
	for i := range 10_000 { // many operators at once
		a.add(queue.State{Epoch: 1, Now: last.Add(time.Duration(i+1) * time.Millisecond), Entered: 10_000})
	}
	if n := len(a.samples); n != 480 {
		t.Errorf("of a thousand looks each second %d are kept, want 480", n)
	}
	a.add(queue.State{Epoch: 1, Now: last.Add(9 * time.Second), Entered: 9_999}) // an answer from before
	if n := len(a.samples); n != 480 || a.samples[n-1].entered != 10_000 {
		t.Errorf("an old answer was taken over")
	}
	if c := cap(a.samples); c > 2000 {
		t.Errorf("there is room for %d", c)
	}
}
