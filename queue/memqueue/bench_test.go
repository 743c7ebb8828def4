package memqueue_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

var rules = driver.Rules{
	Active: 600 * time.Second, Seen: 600 * time.Second, NoShow: 150 * time.Second,
	Tick: time.Second, Batch: 1 << 30, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
}

// crowd lines up a million users, in calls of MaxVisits.
func crowd(b *testing.B, s driver.MemoryStore) (users []string) {
	b.Helper()
	for i := range 1_000_000 {
		users = append(users, fmt.Sprintf("user-%09d", i))
	}
	visits := make([]driver.Visit, driver.MaxVisits)
	for at := 0; at < len(users); at += len(visits) {
		for i := range visits {
			visits[i].User = users[at+i]
		}
		_, err := s.Visit(b.Context(), "event", rules, driver.Beats{}, visits)
		require.NoError(b, err)
	}
	return users
}

func million(b *testing.B) (driver.MemoryStore, []string) {
	b.Helper()
	s, err := memqueue.New(memqueue.Config{})
	require.NoError(b, err)
	return s, crowd(b, s)
}

// BenchmarkJoinMillion lines a million users up, repeatedly.
func BenchmarkJoinMillion(b *testing.B) {
	for b.Loop() {
		million(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/join")
}

// BenchmarkPoll polls for a user among a million.
func BenchmarkPoll(b *testing.B) {
	s, users := million(b)
	visits := make([]driver.Visit, 1)
	i := 0
	for b.Loop() {
		i = (i + 7919) % len(users)
		visits[0] = driver.Visit{Kind: driver.Heartbeat, User: users[i]}
		if _, err := s.Visit(b.Context(), "event", rules, driver.Beats{}, visits); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSweep sweeps a million users who are all alive, a call at a time.
func BenchmarkSweep(b *testing.B) {
	s, _ := million(b)
	from := int64(0)
	for b.Loop() {
		swept, err := s.Sweep(b.Context(), "event", rules, max(1, from))
		if err != nil {
			b.Fatal(err)
		}
		from = swept.Next
	}
}

// BenchmarkAdmit admits chunks of MaxChunk.
func BenchmarkAdmit(b *testing.B) {
	s, _ := million(b)
	r := rules
	r.Threshold = 1 << 30
	admitted := 0
	for b.Loop() {
		a, err := s.Admit(b.Context(), "event", r)
		if err != nil {
			b.Fatal(err)
		}
		if admitted += len(a.Admitted); a.Waiting == 0 {
			break
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(1, admitted)), "ns/admission")
}

// BenchmarkSave saves a million users, and says how long the file is.
func BenchmarkSave(b *testing.B) {
	s, _ := million(b)
	var file bytes.Buffer
	for b.Loop() {
		file.Reset()
		if err := s.Save(&file); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(file.Len())/1e6, "MB")
}

// BenchmarkRestore restores a million users.
func BenchmarkRestore(b *testing.B) {
	s, _ := million(b)
	var file bytes.Buffer
	if err := s.Save(&file); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := newStore(b).Restore(bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
