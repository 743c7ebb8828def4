package redisserver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func own(t *testing.T) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		servicetest.Missing(t, "needs redis-server in PATH (Debian: redis-server)")
	}
	s, err := Open(t.Context(), "")
	require.NoError(t, err)
	return s
}

func TestOwn(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := own(t)
	client := s.Client(1)
	before, err := s.Used(t.Context())
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "key", make([]byte, 1<<20), 0).Err())
	after, err := s.Used(t.Context())
	require.NoError(t, err)
	if _, calls := after.Since(before, []string{"set"}); calls != 1 || after.Memory-before.Memory < 1<<20 || after.CPU <= 0 {
		t.Errorf("%d calls, %d bytes more, %v", calls, after.Memory-before.Memory, after.CPU)
	}
	assert.NoError(t, errors.Join(client.Close(), s.Close()))
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestGiven(t *testing.T) {
	other := own(t)
	t.Setenv("PATH", t.TempDir()) // no redis-server there
	s, err := Open(t.Context(), other.URL)
	require.NoError(t, err)
	if s.Own {
		t.Error("a given server is taken for an own one")
	}
	b, err := s.Blocked(t.Context(), func() error { return nil })
	if err != nil || b.AtOnce() != b.Waited || b.Command != 0 {
		t.Errorf("%+v, %v", b, err)
	}
	assert.NoError(t, s.Close())
	assert.NoError(t, other.admin.Ping(t.Context()).Err(), "the given server was ended")
	assert.NoError(t, other.Close())
	if _, err := Open(t.Context(), ""); err == nil {
		t.Error("there is neither a server nor a URL, and no error")
	}
}

// sleep keeps Redis busy for so many ms.
const sleep = `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local from = now() while now() < from + ARGV[1] do end return 1`

func TestBlocked(t *testing.T) {
	s := own(t)
	defer s.Close() //nolint:errcheck // ends with the test
	const long = 100
	b, err := s.Blocked(t.Context(), func() error {
		client := s.Client(1)
		defer client.Close() //nolint:errcheck // ends with the test
		for _, ms := range []int{1, long, 1} {
			if err := client.Eval(t.Context(), sleep, nil, ms).Err(); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	if b.AtOnce() != b.Command || b.Command < long*time.Millisecond || b.Waited < long*time.Millisecond/2 {
		t.Errorf("%+v", b)
	}
	again, err := s.Blocked(t.Context(), func() error { return nil })
	if err != nil || again.Command >= b.Command {
		t.Errorf("the last measurement is still there: %+v, %v", again, err)
	}
}

// After a while within a script Redis answers that it is busy, which does not end
// the wait.
func TestBlockedAndBusy(t *testing.T) {
	s := own(t)
	defer s.Close() //nolint:errcheck // ends with the test
	client := s.Client(1)
	defer client.Close() //nolint:errcheck // ends with the test
	require.NoError(t, client.ConfigSet(t.Context(), "busy-reply-threshold", "20").Err())
	b, err := s.Blocked(t.Context(), func() error { return client.Eval(t.Context(), sleep, nil, 200).Err() })
	if err != nil || b.Waited < 100*time.Millisecond {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestBlockedFails(t *testing.T) {
	s := own(t)
	defer s.Close() //nolint:errcheck // ends with the test
	broken := errors.New("broken")
	if _, err := s.Blocked(t.Context(), func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Blocked(ended, func() error { return nil }); err == nil {
		t.Error("a measurement without a server has a result")
	}
}

// A server that keeps its state finds it again after a kill.
func TestRestart(t *testing.T) {
	own(t).Close() //nolint:errcheck // there is a program
	for _, keep := range []bool{false, true} {
		s, err := Start(t.Context(), Config{Dir: t.TempDir(), Keep: keep})
		require.NoError(t, err)
		client := s.Client(1)
		require.NoError(t, client.Do(t.Context(), "SET", "key", 1).Err())
		s.Kill()
		require.NoError(t, s.Restart(t.Context()))
		if n, err := client.Exists(t.Context(), "key").Result(); err != nil || n == 1 != keep {
			t.Errorf("keep %v: %d keys, %v", keep, n, err)
		}
		assert.NoError(t, errors.Join(client.Close(), s.Close()))
	}
}
