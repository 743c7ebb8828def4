package frontgate

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// keeping is an ask of the counters of an epoch.
type keeping struct {
	epoch uint64
	driver.Ask
}

// kept returns the position that a member has, else that of a, which is kept from now on.
// Browsers keep their request id themselves, so nothing is kept for them.
func (k *known) kept(ctx context.Context, member string, a assigned) (int64, error) {
	if member == "" || strings.HasPrefix(member, browserMember) {
		return a.position, nil
	}
	position, err := k.keeps.Do(ctx, keeping{a.state.Epoch, driver.Ask{Member: hash(member), Position: a.position}})
	if err != nil {
		return 0, refused(ctx, err)
	}
	return position, nil
}

// hash is 128 bits of SHA-256 in base64url: names of one length that tell nothing.
func hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// keep serves a batch of callers: in one call of the store, unless the counters were lost
// between their questions.
func (g *Gate) keep(ctx context.Context, event string, of []keeping) ([]int64, error) {
	var positions []int64
	for len(of) > 0 {
		epoch := of[0].epoch
		var asks []driver.Ask
		for len(of) > 0 && of[0].epoch == epoch {
			asks, of = append(asks, of[0].Ask), of[1:]
		}
		some, err := g.store.Keep(ctx, event, epoch, asks)
		if err != nil {
			return nil, err
		}
		positions = append(positions, some...)
	}
	return positions, nil
}
