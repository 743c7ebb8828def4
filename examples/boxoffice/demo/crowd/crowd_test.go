package crowd_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/officetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, o *officetest.Office, cfg crowd.Config) *crowd.Crowd {
	t.Helper()
	cfg.URL = o.URL
	if cfg.Think == 0 {
		cfg.Think = 5 * time.Millisecond
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	c, err := crowd.New(cfg)
	require.NoError(t, err)
	require.NoError(t, c.Run(t.Context()))
	return c
}

func wrong(c *crowd.Crowd) string {
	texts, _ := c.Violations()
	return strings.Join(texts, "\n")
}

func TestEveryEndOccurs(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100})
	c := run(t, o, crowd.Config{Fans: 120, Concurrency: 60})
	assert.Equal(t, "", wrong(c), "a right box office was found wrong")
	p := c.Progress()
	if p.Done != 120 || p.Active != 0 {
		t.Errorf("%d done, %d active", p.Done, p.Active)
	}
	for _, end := range []crowd.End{crowd.EndConfirmed, crowd.EndDeclined, crowd.EndCancelled, crowd.EndExpired,
		crowd.EndRefunded, crowd.EndTransferred, crowd.EndMember} {
		if p.Ends[end] == 0 {
			t.Errorf("nobody ended as %q: %v", end, p.Ends)
		}
	}
	if n := p.Ends[crowd.EndLate]; n > 0 {
		t.Errorf("%d payments came too late", n)
	}
	if p.PaidTwice == 0 || p.Requests < 1000 {
		t.Errorf("%+v", p)
	}
	keys := map[string]bool{}
	for _, rec := range c.Records() {
		for _, payment := range rec.Payments {
			if keys[payment.Key] {
				t.Errorf("key %s was used for two payments", payment.Key)
			}
			keys[payment.Key] = true
		}
	}
}

func TestSoldOut(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 5})
	c := run(t, o, crowd.Config{Fans: 60, Concurrency: 20})
	assert.Equal(t, "", wrong(c), "a sold-out box office was found wrong")
	if p := c.Progress(); p.Ends[crowd.EndSoldOut] == 0 || p.Conflicts == 0 {
		t.Errorf("60 fans, 10 seats: %+v", p)
	}
}

// Fans wait for their turn, and leave no place behind.
func TestWaitingRoom(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100, Threshold: 2})
	c := run(t, o, crowd.Config{Fans: 60, Concurrency: 30})
	assert.Equal(t, "", wrong(c), "a box office with a line was found wrong")
	if p := c.Progress(); p.Done != 60 || p.Ends[crowd.EndConfirmed] == 0 {
		t.Errorf("%+v", p)
	}
	rooms := c.Rooms()
	waited := 0
	for _, p := range rooms.Passages {
		if p.Waited() {
			waited++
		}
		if p.Asked.IsZero() || p.Told.Before(p.Asked) || p.Waited() && p.Queued.Before(p.Asked) || p.Entered.Before(p.Told) || p.Entered.Before(p.Queued) {
			t.Errorf("somebody passed out of order: %+v", p)
		}
	}
	if waited == 0 || rooms.Longest == 0 || rooms.Longest > 28 || rooms.Fullest != 2 || rooms.Places != 2 || rooms.Beyonds+rooms.Backs != 0 {
		t.Errorf("of %d passages %d waited; at most %d in line, %d of %d inside, %d answers of more, %d moved back", len(rooms.Passages), waited, rooms.Longest, rooms.Fullest, rooms.Places, rooms.Beyonds, rooms.Backs)
	}
	if now, most := o.Inside(); now != 0 || most != 2 {
		t.Errorf("%d places were never given back; at most %d were inside, want 2", now, most)
	}
}

// A line that does not move is a fault.
func TestLineStands(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100, Threshold: -1})
	c := run(t, o, crowd.Config{Fans: 3, Patience: 200 * time.Millisecond})
	if p := c.Progress(); p.Ends[crowd.EndGaveUp] == 0 || !strings.Contains(wrong(c), "position 1") {
		t.Errorf("%+v %s", p, wrong(c))
	}
}

// Fans that are told for long that no seat is free leave the line, and find nothing wrong.
func TestLineWithoutFreeSeats(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100, Threshold: -1, NoFree: true})
	c := run(t, o, crowd.Config{Fans: 3, Patience: 200 * time.Millisecond})
	if p := c.Progress(); p.Done != 3 || p.Ends[crowd.EndGaveUp] != 0 || wrong(c) != "" {
		t.Errorf("%+v %s", p, wrong(c))
	}
	if now, _ := o.Inside(); now != 0 {
		t.Errorf("%d are left in line", now)
	}
}

func TestFansSurviveLostAnswers(t *testing.T) {
	var mu sync.Mutex
	lottery := rand.New(rand.NewPCG(1, 2))
	o := officetest.Start(t, officetest.Config{Seats: 100, Drop: func(*http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		return lottery.IntN(5) == 0
	}})
	c := run(t, o, crowd.Config{Fans: 100, Concurrency: 50})
	assert.Equal(t, "", wrong(c), "lost answers were taken for a fault")
	if p := c.Progress(); p.Lost == 0 || p.Ends[crowd.EndConfirmed] == 0 {
		t.Errorf("%+v", p)
	}
}

func TestFanNoticesASecondPayment(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100, Fault: officetest.SecondPayment})
	c := run(t, o, crowd.Config{Fans: 30})
	assert.Contains(t, wrong(c), "gave payment")
}

func TestUnexpectedAnswersAreCounted(t *testing.T) {
	for fault, says := range map[officetest.Fault]string{
		officetest.ServerError: "answered 500: something broke",
		officetest.WrongAmount: "by reservation",
	} {
		o := officetest.Start(t, officetest.Config{Seats: 100, Fault: fault})
		c := run(t, o, crowd.Config{Fans: 10})
		assert.Containsf(t, wrong(c), says, "%s", fault)
		if p := c.Progress(); p.Ends[crowd.EndGaveUp] != 1 || p.Violations != 1 {
			t.Errorf("%s: %+v", fault, p)
		}
	}
}

func TestPatienceEnds(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100, Drop: func(*http.Request) bool { return true }})
	c := run(t, o, crowd.Config{Fans: 3, Patience: 100 * time.Millisecond})
	if p := c.Progress(); p.Ends[crowd.EndGaveUp] != 3 || !strings.Contains(wrong(c), "no answer within") {
		t.Errorf("%+v %s", p, wrong(c))
	}
}

func TestCrowdIsBounded(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100})
	c, err := crowd.New(crowd.Config{URL: o.URL, Fans: 60, Concurrency: 7, Think: time.Millisecond})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	most := 0
	for {
		select {
		case err := <-done:
			require.NoError(t, err)
			if most > 7 || most < 2 {
				t.Errorf("up to %d fans at a time, want at most 7", most)
			}
			return
		case <-time.After(time.Millisecond):
			most = max(most, c.Progress().Active)
		}
	}
}

func TestCrowdStops(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100})
	c, err := crowd.New(crowd.Config{URL: o.URL, Concurrency: 20, Think: time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	for c.Progress().Done < 20 { // an endless crowd is under way
		time.Sleep(time.Millisecond)
	}
	stop()
	select {
	case err := <-done:
		assert.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		t.Fatal("the crowd still runs a minute after its context ended")
	}
	if p := c.Progress(); p.Active != 0 || p.Violations != 0 {
		t.Errorf("%+v %s", p, wrong(c))
	}
}

func TestLastCall(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100})
	c, err := crowd.New(crowd.Config{URL: o.URL, Concurrency: 10, Think: time.Millisecond, Churn: true})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	for c.Progress().Done < 20 {
		time.Sleep(time.Millisecond)
	}
	c.LastCall()
	assert.NoError(t, <-done)
	p := c.Progress()
	if p.Ends[crowd.EndStopped] != 0 || p.Ends[crowd.EndGaveUp] != 0 {
		t.Errorf("fans inside did not finish: %+v %s", p, wrong(c))
	}
	if p.Ends[crowd.EndRefunded] == 0 {
		t.Errorf("a churning crowd gave nothing back: %+v", p)
	}
}

func TestConfigErrors(t *testing.T) {
	for says, cfg := range map[string]crowd.Config{
		"URL":         {},
		"Fans":        {URL: "http://x", Fans: -1},
		"Concurrency": {URL: "http://x", Concurrency: -1},
		"Patience":    {URL: "http://x", Patience: -1},
	} {
		if _, err := crowd.New(cfg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
