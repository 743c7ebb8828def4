package memcounter_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter/countertest"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Run("store", func(t *testing.T) {
		countertest.RunStore(t, func(*testing.T) countertest.StoreHarness {
			return countertest.StoreHarness{Store: memcounter.New()}
		})
	})
	t.Run("applier", func(t *testing.T) {
		countertest.RunApplier(t, func(*testing.T) countertest.ApplierHarness {
			return countertest.ApplierHarness{Applier: memcounter.NewApplier()}
		})
	})
	t.Run("source", func(t *testing.T) {
		countertest.RunSource(t, func(*testing.T) countertest.SourceHarness {
			log := memcounter.NewLog()
			return countertest.SourceHarness{Source: log, Append: func(_ context.Context, changes ...driver.Change) error {
				return log.Append(changes...)
			}}
		})
	})
}
