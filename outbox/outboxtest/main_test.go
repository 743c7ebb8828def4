package outboxtest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/outbox/outboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openMemory(_ testing.TB, shards int) outboxtest.Harness {
	m := outboxtest.NewMemory(shards)
	return outboxtest.Harness{Store: m, InTx: m.Do}
}

func TestMemory(t *testing.T) { outboxtest.Run(t, openMemory) }
