package doortest

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type placed struct{ ID string }

func (placed) Spec() millrace.Spec { return millrace.On("orders", "Placed", "c-1") }

// TestAbsentBroker takes an order while nothing listens at the broker's address, and
// handles the order when Kafka is up.
func TestAbsentBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().(*net.TCPAddr)
	check(t, l.Close())
	app, err := millrace.New(sqlite.Open(filepath.Join(t.TempDir(), "app.db")),
		millrace.Config{Service: "shop", Bus: "kafka://" + address.String() + "/"}, kafkabus.Scheme(kafkabus.Config{}))
	require.NoError(t, err)
	defer func() { check(t, app.Close()) }()
	check(t, app.Migrate(t.Context()))
	got := make(chan string, 1)
	millrace.Handle(app, "totals", func(_ context.Context, _ *sql.Tx, p placed) error { got <- p.ID; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	check(t, app.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return app.Emit(ctx, tx, placed{"o-1"}) }))
	if len(got) > 0 {
		t.Error("it is handled without a broker")
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(address.Port))
	if err != nil {
		t.Fatalf("a broker on port %d: %v", address.Port, err)
	}
	defer broker.Close()
	assert.Equal(t, "o-1", <-got, "handled")
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run returns %v", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	assert.NoError(t, err)
}
