package redisqueue_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// Crowds of newcomers at, before and over the end of a segment of the bitmaps.
func TestNewcomersOverSegments(t *testing.T) {
	const segment = 65536
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			client := connect(t)
			store, ctx, rules := newStore(t, client, redistest.Prefix(t, client)), context.Background(), rulesOf(1)
			line := 0
			crowd := func(n int) []driver.Outcome {
				t.Helper()
				visits := make([]driver.Visit, n)
				for i := range visits {
					visits[i].User = fmt.Sprintf("u%d", line+i)
				}
				v, err := store.Visit(ctx, "e", rules, driver.Beats{}, visits)
				require.NoError(t, err)
				for i, o := range v.Outcomes {
					if o.Status != driver.Waiting || !o.New || o.Ahead != line+i || o.Order != v.Outcomes[0].Order+int64(i) {
						t.Fatalf("newcomer %d: %+v", i, o)
					}
				}
				line += n
				return v.Outcomes
			}
			_, err := store.Visit(ctx, "e", rules, driver.Beats{}, []driver.Visit{{User: "inside"}})
			require.NoError(t, err)
			last := crowd(1)[0].Order
			for _, before := range []int64{2, 0, 5} { // of five: over the end, from the beginning of one, up to the end
				end := (last/segment+1)*segment - 1 - before
				for _, gate := range []driver.Gate{{On: true}, {Positions: end - last}} {
					_, err := store.Change(ctx, "e", rules, driver.Change{Gate: &gate})
					require.NoError(t, err)
				}
				crowd5 := crowd(5)
				if got := crowd5[0].Order; got != end+1 {
					t.Fatalf("the next order after %d is %d", end, got)
				}
				last = crowd5[4].Order
			}
			// All users have their told positions, also by the bits of a look.
			view, err := store.Look(ctx, "e", rules, 0, 0)
			require.NoError(t, err)
			bits := 0
			for _, b := range view.Blocks {
				for i := range int64(driver.BlockSize) {
					bits += int(b.Bits[i/64] >> (i % 64) & 1)
				}
			}
			if bits != line || view.Waiting != line {
				t.Errorf("%d bits and %d in line, want %d", bits, view.Waiting, line)
			}
			for i := range line {
				v, err := store.Visit(ctx, "e", rules, driver.Beats{}, []driver.Visit{{User: fmt.Sprintf("u%d", i)}})
				require.NoError(t, err)
				if o := v.Outcomes[0]; o.New || o.Ahead != i {
					t.Errorf("u%d: %+v", i, o)
				}
			}
		})
	}
}
