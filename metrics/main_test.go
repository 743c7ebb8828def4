package metrics_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/ratelimit/keyed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTwoOfAKind: the registerer gives each of two parts its label, and without one the registry
// refuses the second part.
func TestTwoOfAKind(t *testing.T) {
	plain, labelled := prometheus.NewPedanticRegistry(), prometheus.NewPedanticRegistry()
	for i, name := range []string{"joins", "logins"} {
		limiter, err := keyed.New(nil, keyed.Config{})
		require.NoError(t, err)
		c, err := metrics.New(limiter)
		require.NoError(t, err)
		if err := plain.Register(c); (err != nil) != (i > 0) {
			t.Errorf("%s without a label: %v", name, err)
		}
		assert.NoErrorf(t, prometheus.WrapRegistererWith(prometheus.Labels{"limiter": name}, labelled).Register(c), "%s with a label", name)
	}
	families, err := labelled.Gather()
	if err != nil || len(families) != 2 {
		t.Fatalf("%d families, %v", len(families), err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			found := false
			for _, l := range m.GetLabel() {
				found = found || l.GetName() == "limiter"
			}
			if !found {
				t.Errorf("%s has a series without the label", f.GetName())
			}
		}
	}
}
