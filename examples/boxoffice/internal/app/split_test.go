package app

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// An operator asks a process that publishes nothing itself for the relay's figures,
// also after the relay's process has ended.
func TestPublishedByAnotherProcess(t *testing.T) {
	t.Parallel()
	db, bank := boxtest.URL(t), bank(t)
	role := func(name string) *process {
		return start(t, "--data-dir", t.TempDir(), "--db-url", db, "--gateway-url", bank, "--roles", name, "--redis-url", "off",
			"--secret", "a-secret-that-both-processes-share", "--admin-token", "admin-token-of-the-test")
	}
	api := role("api,admitter")
	admin := &fan{p: api, token: api.app.AdminToken()}
	var seen struct {
		Outbox struct{ Backlog, Published int }
	}
	look := func() {
		t.Helper()
		admin.call(http.MethodGet, "/api/admin/ops", "", nil, 200, &seen)
	}
	f := api.fan("ann")
	for _, seat := range []string{"A-1", "B-1", "C-1"} {
		f.hold(seat)
	}
	if look(); seen.Outbox.Published != 0 || seen.Outbox.Backlog != 3 {
		t.Errorf("without a relay: %+v", seen)
	}
	relay := role("relay")
	boxtest.WaitFor(t, "3 published events", func() bool { look(); return seen.Outbox.Published == 3 && seen.Outbox.Backlog == 0 })
	assert.EqualValues(t, 3, relay.app.office.published.Own(), "the relay published")
	require.NoError(t, relay.stop())
	if look(); seen.Outbox.Published != 3 {
		t.Errorf("without the relay it is %d", seen.Outbox.Published)
	}
}
