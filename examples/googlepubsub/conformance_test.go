package googlepubsub_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
)

// absent are the abilities without which a case of the suite does not apply.
var absent = []string{
	"Replay",             // a subscription begins when it is made
	bustest.FlagUnlocked, // a key's next message comes after the acknowledgement
	bustest.FlagLagger, bustest.FlagInspector, bustest.FlagFinder, bustest.FlagGroups, bustest.FlagResetter, bustest.FlagReader,
	bustest.FlagServer,
}

// TestConformance runs Millrace's cases of the suite. Those of redriving wait for letters that an
// earlier reader held, so TestRedrive takes their place; Watermill's own suite sends more
// messages than the fake delivers in its time.
func TestConformance(t *testing.T) {
	ran := 0
	for _, c := range bustest.Cases() {
		if strings.HasPrefix(c.Name, "Redrive") || slices.ContainsFunc(bustest.RuledOut(), func(r bustest.Rule) bool {
			return r.Case == c.Name && slices.Contains(absent, r.Flag)
		}) {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			server := fake(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, c.Test(ctx, bustest.Env{
				Bus:   open(t, server),
				Again: func() (*bus.Bus, error) { return bus.Open(ctx, "pubsub://project", schemes(server)...) },
				OpenURL: func(ctx context.Context, query string) (*bus.Bus, error) {
					return bus.Open(ctx, "pubsub://project?"+query, schemes(server)...)
				},
			}))
		})
	}
	require.GreaterOrEqual(t, ran, 25)
}
