package ops_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Each process sees the events that all of them published, also after a restart.
func TestPublished(t *testing.T) {
	for db, url := range map[string]func(testing.TB) string{
		"sqlite": boxtest.URL, "postgres": servicetest.PostgresURL, "mariadb": servicetest.MariaDBURL, "mysql": servicetest.MySQLURL,
	} {
		t.Run(db, func(t *testing.T) { testPublished(t, url(t)) })
	}
}

func testPublished(t *testing.T, url string) {
	process := func() *ops.Published {
		t.Helper()
		s, err := store.Open(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, s.Close())
		})
		p, err := ops.NewPublished(s, nil)
		require.NoError(t, err)
		require.NoError(t, p.Migrate(t.Context()))
		return p
	}
	total := func(p *ops.Published) int64 {
		t.Helper()
		n, err := p.Total(t.Context())
		require.NoError(t, err)
		return n
	}
	relay := func(p *ops.Published) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		return func() {
			cancel()
			assert.NoError(t, <-done, "Run ended with")
		}
	}
	api, first, second := process(), process(), process()
	stopFirst, stopSecond := relay(first), relay(second)
	first.Add(3)
	second.Add(4)
	if n := total(first); n < 3 {
		t.Errorf("the relay that published 3 events says %d", n)
	}
	for _, p := range []*ops.Published{api, first, second} {
		boxtest.WaitFor(t, "7 events in every process", func() bool { return total(p) == 7 })
	}
	if api.Own() != 0 || first.Own() != 3 || second.Own() != 4 {
		t.Errorf("by themselves they published %d, %d and %d", api.Own(), first.Own(), second.Own())
	}
	second.Add(5)
	stopFirst()
	stopSecond() // the remaining count is written at the end
	if n, later := total(api), total(process()); n != 12 || later != 12 {
		t.Errorf("after the relays ended it is %d, for a new process %d, want 12", n, later)
	}
}

func TestPublishedNeedsAStore(t *testing.T) {
	if _, err := ops.NewPublished(nil, nil); err == nil {
		t.Error("nil was accepted")
	}
}
