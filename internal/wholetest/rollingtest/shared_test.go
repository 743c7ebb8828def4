package rollingtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A line of people lives through the upgrade of its processes, and the way back: each process
// answers everybody, and both releases admit.
func TestRollingRoom(t *testing.T) {
	older, newer := releases(t, "shared")
	name := fmt.Sprint("rolling-", time.Now().UnixNano())
	l := &line{t: t}
	old := speak(t, older, name)
	l.join(60, old)
	l.poll(2, old)
	fresh := speak(t, newer, name)
	l.join(60, old, fresh)
	l.poll(6, old, fresh)
	old.end()
	l.join(60, fresh)
	l.poll(6, fresh)
	back := speak(t, older, name)
	l.join(30, fresh, back)
	l.poll(4, fresh, back)
	fresh.end()
	l.join(30, back)
	for n := 0; l.served < len(l.people); n++ {
		require.Less(t, n, 2000, "%d of %d people were admitted", l.served, len(l.people))
		l.poll(1, back)
	}
	back.end()
}

// line is the people of a room in the order in which they joined.
type line struct {
	t      *testing.T
	people []*person
	served int // admitted so far
}

type person struct {
	name, ticket   string
	admitted, left bool
}

// join lets the next people join, one after the other, through the processes in turn.
func (l *line) join(n int, through ...*speaker) {
	l.t.Helper()
	for i := range n {
		p := &person{name: fmt.Sprint("person-", len(l.people))}
		l.people = append(l.people, p)
		l.check(p, through[i%len(through)])
	}
}

// poll lets all people poll in rounds, each through another process than before. People that
// are inside leave after a round.
func (l *line) poll(rounds int, through ...*speaker) {
	l.t.Helper()
	for round := range rounds {
		var inside []*person
		waiting := 0
		for i, p := range l.people {
			if p.left {
				continue
			}
			before := p.admitted
			l.check(p, through[(i+round)%len(through)])
			switch {
			case p.admitted && before:
				inside = append(inside, p)
			case !p.admitted:
				waiting++
			}
			// Behind more people than can have been admitted since they were asked, nobody is inside.
			require.False(l.t, p.admitted && !before && waiting > threshold, "%s was admitted before %d people in front", p.name, waiting)
		}
		for i, p := range inside {
			require.Empty(l.t, through[i%len(through)].call(map[string]any{"User": p.name, "Leave": true}).Err)
			p.left = true
		}
	}
}

const threshold = 10 // of the program

// check lets a person poll.
func (l *line) check(p *person, through *speaker) {
	l.t.Helper()
	a := through.call(map[string]any{"User": p.name, "Ticket": p.ticket})
	for n := 0; p.admitted && a.Status == "waiting"; n++ { // until a snapshot from before is replaced
		require.Less(l.t, n, 10_000, "%s was inside", p.name)
		a = through.call(map[string]any{"User": p.name, "Ticket": p.ticket})
	}
	require.Empty(l.t, a.Err)
	require.LessOrEqual(l.t, a.Active, threshold)
	p.ticket = a.Ticket
	switch {
	case a.Status == "active" && !p.admitted:
		p.admitted = true
		l.served++
	case p.admitted:
		require.Equal(l.t, "active", a.Status, "%s was inside", p.name)
	default:
		require.Equal(l.t, "waiting", a.Status, p.name)
	}
	inside := 0
	for _, p := range l.people {
		if p.admitted && !p.left {
			inside++
		}
	}
	require.LessOrEqual(l.t, inside, threshold)
}

// Processes of both releases share one limit.
func TestRollingLimit(t *testing.T) {
	older, newer := releases(t, "shared")
	name := fmt.Sprint("rolling-", time.Now().UnixNano())
	old, fresh := speak(t, older, name), speak(t, newer, name)
	began, units := time.Now(), map[*speaker]int{}
	for time.Since(began) < 3*time.Second {
		for _, s := range []*speaker{old, fresh} {
			a := s.call(map[string]any{})
			require.Empty(t, a.Err)
			units[s] += a.Units
		}
	}
	most := 100 * (time.Since(began).Seconds() + 1) // of every second at most the hard limit
	t.Logf("%d units by the older release, %d by this one, at most %.0f", units[old], units[fresh], most)
	require.LessOrEqual(t, float64(units[old]+units[fresh]), most)
	require.Positive(t, units[old]+units[fresh])
	old.end()
	fresh.end()
}

// speaker is a process that answers calls.
type speaker struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func speak(t *testing.T, program, name string) *speaker {
	t.Helper()
	server := os.Getenv("MILLRACE_REDIS_URL")
	require.NotEmpty(t, server, "Redis's URL is missing: run make rolling")
	s := &speaker{t: t, cmd: exec.Command(program, server, name)}
	s.cmd.Stderr = os.Stderr
	var err error
	s.in, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	s.lines = bufio.NewScanner(out)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { s.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	return s
}

// reply is an answer of the program.
type reply struct {
	Status, Ticket, Err string
	Active, Units       int
}

func (s *speaker) call(c map[string]any) (a reply) {
	s.t.Helper()
	require.NoError(s.t, json.NewEncoder(s.in).Encode(c))
	require.True(s.t, s.lines.Scan(), "the process does not answer")
	require.NoError(s.t, json.Unmarshal(s.lines.Bytes(), &a))
	return a
}

// end ends the process in order.
func (s *speaker) end() {
	s.t.Helper()
	require.NoError(s.t, s.in.Close())
	require.NoError(s.t, s.cmd.Wait())
}

// releases builds a program of testdata with the older release and with this tree.
func releases(t *testing.T, program string) (older, newer string) {
	t.Helper()
	from := os.Getenv("MILLRACE_ROLLING_FROM")
	if from == "" {
		t.Skip("needs an older release to upgrade from: run make rolling")
	}
	dir := t.TempDir()
	older, newer = filepath.Join(dir, "older"), filepath.Join(dir, "newer")
	build(t, from, program, older)
	run(t, ".", "go", "build", "-o", newer, "./testdata/"+program)
	return older, newer
}
