package onsale

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
)

// told gives the answers that a test sets.
type told struct {
	driver.Store
	admission driver.Admission
	visited   driver.Visited
	err       error
	took      func() // when it answers
}

func (t *told) Admit(context.Context, string, driver.Rules) (driver.Admission, error) {
	t.took()
	return t.admission, t.err
}

func (t *told) Visit(context.Context, string, driver.Rules, driver.Beats, []driver.Visit) (driver.Visited, error) {
	return t.visited, t.err
}

// Admissions are in the order of the calls, and within one call in that of its
// list. Concurrent calls may have taken turns.
func TestInOrder(t *testing.T) {
	store, now := &told{}, time.Duration(0)
	r := newRecord(30, number, func() time.Duration { return now })
	s := recorded{store, r}
	admit := func(from, to time.Duration, people ...int32) {
		store.admission = driver.Admission{State: queue.State{Threshold: 9, Active: len(people)}}
		for _, n := range people {
			store.admission.Admitted = append(store.admission.Admitted, driver.Admitted{User: user(n), Order: 100 + int64(n)})
		}
		now, store.took = from, func() { now = to }
		_, err := s.Admit(t.Context(), "on-sale", driver.Rules{})
		require.NoError(t, err)
	}
	admit(50, 60, 20, 2) // is wrong, and stays so
	admit(10, 20, 8, 11, 13)
	admit(15, 30, 9, 12, 10) // is wrong from 12 to 10
	admit(25, 40, 14)
	admit(41, 42)
	now, store.took = 1, func() {}
	store.visited = driver.Visited{State: queue.State{Threshold: 9}, Outcomes: []driver.Outcome{
		{Status: queue.Waiting, Order: 109, New: true}, {Status: queue.Active, Order: 101, New: true, Entered: true}, {Status: queue.Active, Order: 102},
	}}
	visits := []driver.Visit{{User: user(9)}, {User: user(1)}, {User: user(2)}}
	if _, err := s.Visit(t.Context(), "on-sale", driver.Rules{}, driver.Beats{}, visits); err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, a := range r.inOrder() {
		got = append(got, a.person)
	}
	if want := []int32{1, 8, 9, 11, 12, 10, 13, 14, 20, 2}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	if r.answers != 6 || r.over != -6 || r.orders[9] != 109 || r.lost != 0 {
		t.Errorf("%+v", r)
	}

	store.visited.Outcomes[0].Order = 110
	if _, err := s.Visit(t.Context(), "on-sale", driver.Rules{}, driver.Beats{}, visits); err != nil || r.moved != 1 {
		t.Errorf("%d moved, %v", r.moved, err)
	}
	store.err = errors.New("no answer")
	_, err := s.Visit(t.Context(), "on-sale", driver.Rules{}, driver.Beats{}, visits)
	if _, also := s.Admit(t.Context(), "on-sale", driver.Rules{}); err == nil || also == nil || r.lost != 2 || r.answers != 7 {
		t.Errorf("%v, %v: %d of %d without an answer", err, also, r.lost, r.answers)
	}
}
