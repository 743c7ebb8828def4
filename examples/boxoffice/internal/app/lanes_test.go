package app

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// TestMembersHaveALane: those with a membership of the house have a share of the turns,
// before their places in line; without a lane they have not.
func TestMembersHaveALane(t *testing.T) {
	t.Parallel()
	const others = 8
	for name, c := range map[string]struct {
		share string
		least int // turns until the member's, at least
		most  int
	}{"a lane": {"30", 1, 5}, "no lane": {"0", others + 1, others + 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "--data-dir", t.TempDir(), "--queue-threshold", "1", "--queue-admission-interval-ms", "20", "--queue-member-share", c.share)
			inside, member := p.visitor("ann"), p.visitor("mina")
			inside.enters()
			member.call(http.MethodPost, "/api/memberships", "membership", map[string]any{"amount": 30000, "card": approve}, 202, nil)
			var mine struct{ Memberships []struct{ Status string } }
			boxtest.WaitFor(t, "the membership", func() bool {
				member.call(http.MethodGet, "/api/me/memberships", "", nil, 200, &mine)
				return len(mine.Memberships) == 1 && mine.Memberships[0].Status == "ACTIVE"
			})
			var line []*fan
			for i := range others {
				line = append(line, p.visitor(fmt.Sprint("fan-", i)))
			}
			line = append(line, member)
			for i, f := range line {
				require.Equal(t, "queued", f.check().Status)
				require.Equal(t, i+1, f.check().Position)
			}
			turns := 0
			for inside != member {
				inside.leave()
				turns++
				boxtest.WaitFor(t, "a turn", func() bool {
					for i, f := range line {
						if f.check().Status == "active" {
							inside, line = f, append(line[:i:i], line[i+1:]...)
							return true
						}
					}
					return false
				})
			}
			require.GreaterOrEqual(t, turns, c.least)
			require.LessOrEqual(t, turns, c.most)
		})
	}
}
