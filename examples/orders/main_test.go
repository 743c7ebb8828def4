package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestOrders runs the programs as services: they take orders during an outage of the
// broker, catch up after it, and end in order.
func TestOrders(t *testing.T) {
	t.Run("sql", func(t *testing.T) { testOrders(t, ".") })
	t.Run("pgx", func(t *testing.T) { testOrders(t, "./pgx") })
}

func testOrders(t *testing.T, folder string) {
	url := servicetest.PostgresURL(t)
	db, err := pgdb.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	program := filepath.Join(t.TempDir(), "orders")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, folder).CombinedOutput()
	require.NoError(t, err, "%s", out)

	broker, server := port(t), port(t)
	var said strings.Builder
	cmd := exec.Command(program)
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "MILLRACE_DB_URL="+url,
		fmt.Sprintf("MILLRACE_BUS_URL=kafka://127.0.0.1:%d/", broker), fmt.Sprintf("ADDR=127.0.0.1:%d", server))
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill() })

	post := func(body string) (status int) {
		require.Eventually(t, func() bool { // until the server listens
			answer, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/orders", server), "application/json", strings.NewReader(body))
			if err != nil {
				return false
			}
			status = answer.StatusCode
			return answer.Body.Close() == nil
		}, time.Minute, 20*time.Millisecond, &said)
		return status
	}
	require.Equal(t, http.StatusOK, post(`{"ID": "o-1", "Customer": "Ada", "Cents": 1200}`))
	require.Equal(t, http.StatusInternalServerError, post(`{"ID": "o-1", "Customer": "Ada", "Cents": 1200}`), "the same order")
	require.Equal(t, http.StatusBadRequest, post(`{`))
	require.Equal(t, http.StatusOK, post(`{"ID": "o-2", "Customer": "Ada", "Cents": 34}`))

	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(broker))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	require.Eventually(t, func() bool {
		var cents int64
		return db.QueryRow(`SELECT cents FROM totals WHERE customer = 'Ada'`).Scan(&cents) == nil && cents == 1234
	}, time.Minute, 20*time.Millisecond, &said)

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended, &said)
}

// port is a free port.
func port(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port
}
