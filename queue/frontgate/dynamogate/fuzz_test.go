package dynamogate

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// An item has counters in whole numbers, or an error that names the wrong one.
func FuzzItem(f *testing.F) {
	f.Add(true, "1", "500", "100", "7", "9", "1", uint8(0))
	f.Add(true, "1.5", "1e3", "", "7", "9", "1", uint8(0))
	f.Add(false, "9223372036854775808", "1", "1", "1", "1", "1", uint8(3))
	f.Fuzz(func(t *testing.T, on bool, epoch, next, serving, opened, advanced, expires string, missing uint8) {
		n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
		item := map[string]types.AttributeValue{
			attrActive: &types.AttributeValueMemberBOOL{Value: on},
			attrEpoch:  n(epoch), attrNext: n(next), attrServing: n(serving), attrOpened: n(opened), attrAdvanced: n(advanced), attrExpires: n(expires),
		}
		names := []string{"", attrActive, attrEpoch, attrNext, attrServing, attrOpened, attrAdvanced, attrExpires}
		left := names[int(missing)%len(names)]
		delete(item, left)
		c, err := countersOf(item)
		if err != nil {
			require.ErrorIs(t, err, errItem, "is no error of the item")
			return
		}
		if left != "" && left != attrAdvanced && left != attrExpires {
			t.Fatalf("without %s it is %+v", left, c)
		}
		for text, got := range map[string]int64{epoch: c.epoch, next: c.assigned, serving: c.serving, opened: c.opened} {
			if want, err := strconv.ParseInt(text, 10, 64); err != nil || epoch != next && next != serving && serving != opened && opened != epoch && epoch != serving && next != opened && want != got {
				t.Fatalf("%q is read as %d", text, got)
			}
		}
		if !c.there || c.on != on {
			t.Fatalf("%+v", c)
		}
	})
}
