package queue_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/draw"
)

// favoured is the name of many that gets the best place in a draw, for a person that knows the
// keys of the room and its settings, and takes the beacon for the given value.
func (p *presale) favoured(crowd int, beacon []byte) string {
	p.Helper()
	secret, err := seal.NewSecrets(ring(p)).Open(p.kept.all["show-1"].Draw.Secret, "show-1")
	require.NoError(p, err)
	seed, key := secret[:draws.Size], secret[draws.Size:]
	var others []draw.Leaf
	for i := range crowd {
		others = append(others, draws.LeafOf(key, fmt.Sprint("user-", i)))
	}
	best, name := crowd+2, ""
	for i := range 500 {
		mine := fmt.Sprint("insider-", i)
		leaf := draws.LeafOf(key, mine)
		leaves := append(others[:crowd:crowd], leaf)
		draws.Sort(leaves)
		if place, _ := draws.NewOrder(seed, beacon, leaves).Place(leaf); place < best {
			best, name = place, mine
		}
	}
	return name
}

// TestAnInsider: an insider with the keys and the settings knows the seed, and joins last, by the
// name of five hundred that the draw favours. Without a beacon that name is the first, as
// the documentation says; with a beacon it is a name like others.
func TestAnInsider(t *testing.T) {
	const crowd = 40
	placeOf := func(t *testing.T, beacon string) (place int) {
		synctest.Test(t, func(t *testing.T) {
			cfg := queue.Config{Threshold: 1}
			if beacon != "" {
				cfg.Beacon = func(context.Context, string) ([]byte, error) { return []byte("the value of tomorrow"), nil }
			}
			p := newPresale(t, cfg, beacon, crowd)
			defer run(t, p.room)()
			time.Sleep(time.Until(p.opens) - 10*time.Second)
			guess := []byte(nil)
			if beacon != "" {
				guess = []byte("the value of today")
			}
			insider := p.favoured(crowd, guess)
			p.poll(insider)
			time.Sleep(time.Until(p.opens) + time.Second)
			place = p.placeOf(p.order(), insider)
		})
		return place
	}
	require.Equal(t, 1, placeOf(t, ""))
	sum := 0
	for range 12 {
		sum += placeOf(t, "a round of tomorrow")
	}
	// 21 on average: with less than 80 for all of them the beacon would be worth nothing.
	require.Greater(t, sum, 80)
}
