package sqsbus

import (
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
)

// The messages of a key are in rounds of their own, in their order; without order there is
// one round, and no groups.
func TestRounds(t *testing.T) {
	for standard, want := range map[bool]string{false: "a1 b1 c1 | a2 c2 | a3", true: "a1 a2 b1 a3 c1 c2"} {
		p := &publisher{cfg: Config{Standard: standard}}
		var all []entry
		for _, id := range []string{"a1", "a2", "b1", "a3", "c1", "c2"} {
			m := message.NewMessage(id, nil)
			m.Metadata.Set(event.KeyHeader, id[:1])
			e, err := encode(m, 1<<10)
			require.NoError(t, err)
			all = append(all, e)
		}
		var rounds []string
		for _, round := range p.rounds(all) {
			var ids []string
			for _, e := range round {
				ids = append(ids, e.uuid)
				if (e.MessageGroupId == nil) != standard || (e.MessageDeduplicationId == nil) != standard {
					t.Errorf("standard %t: %s has the group %v and the deduplication id %v", standard, e.uuid, e.MessageGroupId, e.MessageDeduplicationId)
				}
			}
			rounds = append(rounds, strings.Join(ids, " "))
		}
		if got := strings.Join(rounds, " | "); got != want {
			t.Errorf("standard %t: the rounds are %s, want %s", standard, got, want)
		}
	}
}
