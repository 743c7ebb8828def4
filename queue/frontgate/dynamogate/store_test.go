package dynamogate_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
	"github.com/millrace-go/millrace/queue/frontgate/frontgatetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a client of a server that has the DynamoDB API.
func open(t testing.TB, endpoint string) *dynamodb.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: "local", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// tables names two tables of the test's own, which are removed at its end.
func tables(t testing.TB, client *dynamodb.Client) dynamogate.Config {
	t.Helper()
	prefix := "t-" + strings.ToLower(rand.Text())
	cfg := dynamogate.Config{Counters: prefix + "-counters", Positions: prefix + "-positions"}
	t.Cleanup(func() {
		for _, name := range []string{cfg.Counters, cfg.Positions} {
			_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
			assert.NoError(t, err, "delete %s", name)
		}
	})
	return cfg
}

func newStore(t testing.TB, client *dynamodb.Client, cfg dynamogate.Config) driver.TableStore {
	t.Helper()
	s, err := dynamogate.New(client, cfg)
	require.NoError(t, err)
	return s
}

// fresh is a store on tables of the test's own.
func fresh(t testing.TB) (driver.TableStore, *dynamodb.Client, dynamogate.Config) {
	t.Helper()
	client := open(t, servicetest.DynamoDB(t))
	cfg := tables(t, client)
	s := newStore(t, client, cfg)
	require.NoError(t, s.CreateTables(t.Context()))
	return s, client, cfg
}

// moment is a clock that stands still.
type moment struct {
	mu  sync.Mutex
	now time.Time
}

func (m *moment) get() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *moment) move(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// harness is two stores with one clock, each with a client of its own.
func harness(t *testing.T) frontgatetest.Harness {
	t.Helper()
	m := &moment{now: time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)} // an expiry that is past in 2026 would be removed
	s, client, cfg := fresh(t)
	peer := newStore(t, open(t, servicetest.DynamoDB(t)), cfg)
	dynamogate.Clocked(s, m.get)
	dynamogate.Clocked(peer, m.get)
	return frontgatetest.Harness{Store: s, Peer: peer, Move: m.move, Expires: true, Lose: func(ctx context.Context) error {
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &cfg.Counters}); err != nil {
			return err
		}
		return s.CreateTables(ctx)
	}}
}

func TestConformance(t *testing.T) { frontgatetest.Run(t, harness) }

// Nothing in the suite is n/a.
func TestNotApplicable(t *testing.T) {
	if left := frontgatetest.Suite().NotApplicable(harness(t)); len(left) > 0 {
		t.Errorf("n/a: %v", left)
	}
}
