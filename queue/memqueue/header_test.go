package memqueue_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/driver"
)

// TestUsersKeepNoHeaders: a user's id may be a part of a request's header, which may be large.
func TestUsersKeepNoHeaders(t *testing.T) {
	s := newStore(t)
	const headers = 64
	visit := func() {
		t.Helper()
		for i := range headers {
			header := fmt.Sprintf("user=%03d; others=%s", i, strings.Repeat("x", 1<<20))
			_, err := s.Visit(t.Context(), "e", rules, driver.Beats{}, []driver.Visit{{User: header[5:8]}})
			require.NoError(t, err)
		}
		runtime.GC()
		var mem runtime.MemStats
		if runtime.ReadMemStats(&mem); mem.HeapAlloc > headers<<20/2 {
			t.Errorf("%d ids of three bytes keep %d MB", headers, mem.HeapAlloc>>20)
		}
	}
	change := func(threshold, waiting, active int) {
		t.Helper()
		state, err := s.Change(t.Context(), "e", rules, driver.Change{Threshold: &threshold})
		if err != nil || state.Waiting != waiting || state.Active != active {
			t.Fatalf("%+v %v", state, err)
		}
	}
	change(0, 0, 0)
	visit()
	change(headers, headers, 0)
	_, err := s.Admit(t.Context(), "e", rules)
	require.NoError(t, err)
	visit()
	change(headers, 0, headers)
}
