package sqsbus

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A policy receives one statement for each topic, and keeps its other ones.
func TestAllowing(t *testing.T) {
	const queue, topic = "arn:aws:sqs:eu-central-1:1:orders-mail", "arn:aws:sns:eu-central-1:1:orders"
	theirs := `{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"` + queue + `","Condition":{"ArnEquals":{"aws:SourceArn":"` + topic + `"}}}`
	for _, had := range []string{"", "{}", `{"Version":"2012-10-17","Id":"x","Statement":` + theirs + `}`, `{"Statement":[` + theirs + `]}`} {
		policy, err := allowing(had, queue, topic)
		if err != nil || policy == "" {
			t.Fatalf("%s: %q, %v", had, policy, err)
		}
		var got struct {
			Version, Id string //nolint:revive // the names of the format
			Statement   []json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(policy), &got))
		n := strings.Count(had, "Deny")
		if len(got.Statement) != n+1 || n > 0 && string(got.Statement[0]) != theirs || got.Version != "2012-10-17" || strings.Contains(had, `"Id"`) != (got.Id == "x") {
			t.Errorf("%s became %s", had, policy)
		}
		const want = `{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queue + `","Condition":{"ArnEquals":{"aws:SourceArn":"` + topic + `"}}}`
		assert.Equal(t, want, string(got.Statement[n]), "the statement")
		if again, err := allowing(policy, queue, topic); err != nil || again != "" {
			t.Errorf("a policy that allows it became %q, %v", again, err)
		}
		if other, err := allowing(policy, queue, topic+"-2"); err != nil || strings.Count(other, "Allow") != 2 {
			t.Errorf("with another topic it is %s, %v", other, err)
		}
	}
	for _, odd := range []string{"x", "[]", `{"Statement":[1]}`, `{"Statement":"x"}`} {
		if policy, err := allowing(odd, queue, topic); err == nil {
			t.Errorf("%s became %s", odd, policy)
		}
	}
}

// A group's queue has the names of topic and group, and a hash if that is too long.
func TestGroupQueueNames(t *testing.T) {
	for _, standard := range []bool{false, true} {
		q := &queues{cfg: Config{Prefix: "shop-", Standard: standard}, topics: &topics{}}
		suffix := q.cfg.suffix()
		if got, err := q.name(owner{"order.events", "mail.v2"}); err != nil || got != "shop-order-events-mail-v2"+suffix {
			t.Errorf("the name is %s, %v", got, err)
		}
		seen := map[string]bool{}
		long := strings.Repeat("x", 80)
		for _, of := range []owner{{long, "a"}, {long, "b"}, {long + "y", "a"}, {"a", long}} {
			got, err := q.name(of)
			if err != nil || seen[got] || len(got) != maxQueueName || !strings.HasSuffix(got, suffix) || !strings.HasPrefix(got, "shop-") {
				t.Errorf("the name of %s is %s, %v", of, got, err)
			}
			seen[got] = true
		}
		for _, of := range []owner{{"", "g"}, {"t", ""}, {"a b", "g"}, {"t", "a/b"}, {long + "/", "g"}, {"t", long + "/"}} {
			if got, err := q.name(of); err == nil {
				t.Errorf("%q and %q have the name %s", of.topic, of.group, got)
			}
		}
	}
}
