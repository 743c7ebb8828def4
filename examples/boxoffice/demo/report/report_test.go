package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

func sample(t *testing.T) (crowd.Progress, audit.Ops) {
	t.Helper()
	var ops audit.Ops
	err := json.Unmarshal([]byte(`{"outbox":{"published":1234,"backlog":5},"consumers":[
		{"handled":1000,"lag":2,"duplicates":3},{"handled":2000,"lag":null,"inFlight":4}],"deadLetters":[{"topic":"t","count":6}]}`), &ops)
	require.NoError(t, err)
	return crowd.Progress{Fans: 200, Done: 50, Active: 20, Requests: 12345, Violations: 1,
		Comments: 1500, Messages: 60, Notices: 7, Reopened: 3,
		Ends: map[crowd.End]int{crowd.EndConfirmed: 40, crowd.EndDeclined: 10}}, ops
}

func TestFrameFitsAndTells(t *testing.T) {
	p, ops := sample(t)
	for _, width := range []int{50, 80, 200} {
		lines := Frame(p, 321, ops, width)
		text := strings.Join(lines, "\n")
		for _, line := range lines {
			if len([]rune(line)) >= width {
				t.Errorf("width %d: %q is %d wide", width, line, len([]rune(line)))
			}
		}
		plain := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"50 of 200 fans", "40 confirmed, 10 declined", "12,345 answered, 321/s", "1,234 published, 5 waiting",
			"3,000 handled, 2 waiting, 4 in flight", "3 duplicates skipped", "1,500 comments, 60 chat messages, 7 live notices, 3 streams came back", "6 dead letters", "met 1 answers"} {
			assert.Containsf(t, plain, want, "width %d lacks %q:\n%s", width, want, text)
		}
	}
}

func TestLineTells(t *testing.T) {
	p, ops := sample(t)
	line := Line(7*time.Second, p, 321, ops)
	for _, want := range []string{"7s", "50 of 200 fans", "40 confirmed", "60 chat messages", "321 requests/s", "1,234 published", "WRONG: 1"} {
		if !strings.Contains(line, want) || strings.Contains(line, "\n") {
			t.Errorf("%q lacks %q, or is not one line", line, want)
		}
	}
}

func TestCrowdTells(t *testing.T) {
	p, _ := sample(t)
	got := Crowd(screen.New(&bytes.Buffer{}, true), p, nil, time.Second)
	assert.Contains(t, got, "\n  1,500 comments, 60 chat messages, 7 live notices, 3 streams came back\n")
	if p.Reopened = 0; strings.Contains(Crowd(screen.New(&bytes.Buffer{}, true), p, nil, time.Second), "came back") {
		t.Error("streams came back, and none broke")
	}
}

func TestVerdict(t *testing.T) {
	out := screen.New(&bytes.Buffer{}, true)
	good, bad := judge.Check{Name: "good", OK: true}, judge.Check{Name: "bad", Detail: "it is"}
	for want, r := range map[string]audit.Result{
		"OK: all 2 checks hold\n":                        {Own: []judge.Check{good}, Outside: []judge.Check{good}},
		"BROKEN: 1 of 2 checks do not hold\n":            {Own: []judge.Check{good}, Outside: []judge.Check{bad}},
		"BROKEN: the box office reports no invariants\n": {Outside: []judge.Check{good}},
	} {
		assert.Equal(t, want, Verdict(out, r))
		if strings.HasPrefix(want, "OK") != r.OK() {
			t.Errorf("%q and OK() is %v", want, r.OK())
		}
	}
	table := Audit(out, audit.Result{Own: []judge.Check{good}, Outside: []judge.Check{bad}})
	if !strings.Contains(table, "  ok      good\n") || !strings.Contains(table, "  BROKEN  bad  it is\n") {
		t.Errorf("%s", table)
	}
}

func TestRate(t *testing.T) {
	var r Rate
	start := time.Now()
	assert.EqualValues(t, 0, r.Update(start, 0), "the first look")
	for i := 1; i <= 20; i++ { // 100 per second at first, then 300
		n := i * 50
		if i > 10 {
			n = 500 + (i-10)*150
		}
		got := r.Update(start.Add(time.Duration(i)*500*time.Millisecond), n)
		if i == 10 && (got < 99 || got > 101) || i == 20 && (got < 299 || got > 301) {
			t.Errorf("look %d: %v per second", i, got)
		}
	}
}

func TestRooms(t *testing.T) {
	out := screen.New(&bytes.Buffer{}, true)
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	r := crowd.Rooms{Longest: 1234, Passages: []crowd.Passage{
		{Asked: at(0), Told: at(0), Entered: at(1)}, {Asked: at(0), Told: at(1), Queued: at(2), Entered: at(3)},
		{Asked: at(1), Told: at(1), Queued: at(4), Entered: at(6)}, {Asked: at(2), Told: at(3), Queued: at(9), Entered: at(10)},
	}}
	for want, r := range map[string]crowd.Rooms{
		"3 of 4 stood in line before they were let in; the longest line had 1,234 people; waits: median 5.0 s, longest 8.0 s; 0.4 let in per second": r,
		"1 let in at once; nobody stood in line": {Passages: r.Passages[:1]},
		"0 let in at once":                       {},
	} {
		assert.Contains(t, strings.Join(strings.Fields(Rooms(out, r)), " "), want)
	}
}
